// Tiles for products that give each multiprocessor one or more.
#pragma once
#define LEAST_TILES 67  // half of an H100's or H200's multiprocessors, and one more
#define TILES_OF(rows, columns) (((M + (rows) - 1) / (rows)) * ((N + (columns) - 1) / (columns)))
#define TILE_M 128
#if TILES_OF(128, 256) >= LEAST_TILES
#define TILE_N 256
#elif TILES_OF(128, 128) >= LEAST_TILES
#define TILE_N 128
#elif TILES_OF(128, 64) >= LEAST_TILES
#define TILE_N 64
#else
#error SKIP: fewer than 67 tiles of (128, 64) leave half of the multiprocessors without work
#endif
