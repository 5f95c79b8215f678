// Idea    Nothing: the cost of a launch alone. Every kernel's time contains this floor.
// Change  -
// Buys    The floor: two events in a row, an empty launch between two events, an empty node in a graph, a launch with a
//         synchronise.
// Limits  -
#include "../common/launch.cuh"

LAUNCH = {32, 1, 0, 0};

extern "C" __global__ void null() {}
