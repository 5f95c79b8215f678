// size_t is NVRTC's own.
#pragma once
typedef decltype((char *)0 - (char *)0) ptrdiff_t;
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
