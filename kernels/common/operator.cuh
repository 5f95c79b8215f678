// The former name of workload.cuh, for one release.
#pragma once
#include "workload.cuh"
