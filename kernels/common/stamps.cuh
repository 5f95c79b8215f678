// STAMP(stage, part): a probe (tests/tools/stages.cuh) notes the time at the end of a stage. Elsewhere it is nothing.
#pragma once
#ifndef STAMP
#define STAMP(stage, part)
#endif
