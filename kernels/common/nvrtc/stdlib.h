// malloc(), free() and abs() are NVRTC's own.
#pragma once
#include "stddef.h"
