// printf() is NVRTC's own.
#pragma once
