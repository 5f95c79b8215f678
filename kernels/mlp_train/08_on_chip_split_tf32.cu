// Idea    All weights stay on the chip for the whole epoch, and nothing waits for more than it needs. Tensor cores
//         compute float32 products as three tf32 products each (split_tf32.cuh).
// Change  From 05: weights in shared memory and registers instead of the L2, read once and written once per epoch; a
//         number that other blocks need carries its flag in its last bit, instead of a grid barrier; every cluster
//         computes the last layer by itself. on_chip_tiles.cuh, _exchange.cuh, _last_layer.cuh, _steps.cuh.
//         How to cut a product of 64 rows by (784, 784), and what a block then reads from the L2, at about 5.5 TB/s:
//           neurons over 132 blocks              200 KB a block, 26 MB in all: 4.8 us
//           28 clusters of 4 (rung 05)            50 KB, 5.6 MB: 1.0 us; sends 7 KB of sums
//           13 clusters of 8, 64 neurons each     26 KB, 2.8 MB: 0.5 us; sends 16 KB
//           7 clusters of 16                      13 KB, 1.4 MB: 0.3 us; sends 29 KB; may not fit
//         The third, 104 blocks. A backward product with the same tiles would have its sums over clusters, so 26 KB a
//         block by way of the L2 and one more exchange. So hidden layers have a second, transposed tile, whose sums
//         stay in a cluster as well; its gradient is computed twice. Five tiles of 26 KB at depth 4: three in shared
//         memory, two in registers (56 a thread).
// Buys    Predicted, width 784: a product is 64 x 104 x 64 multiply-adds a block, three times, at 640 per clock with
//         mma.sync: 1.1 us; as long a gradient. An exchange is 0.5 us for the sums and 1.0 for the results. Forward
//         three times 1.1 + 1.5; the last layer 1.8; backward twice 1.1 and an update in the exchange, with its
//         copies 2.1; the first layer's update 1.9; the transposed tiles' in the next step's exchanges: 18 us a step,
//         17 ms an epoch, where rung 05 takes 42.6. Width 256, 64 blocks: nearly only the chain, 12 us a step.
//         Measured on an H200: 44.5 ms an epoch at 784, slower than rung 04 (40.5), and 20.7 at 256 (04: 22.4).
//         Exchanges are a fifth of a step. Products take 1.7 times what was predicted, the transposed tiles' gradients
//         and their copies more than the exchange that they spare: docs/on-chip.md, "What the first run told".
// Limits  The chain of exchanges; gradients outside of waits. Batches of at most 64 images (fewer are padded), widths
//         of whole eights, as many layers as fit (784: five). A transposed tile differs from its layer's in the last
//         bits.
#define TEMPORARIES STEPS_MEMORY(64)  // ROWS
#include "mlp_train.cuh"

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#error SKIP: needs clusters of blocks (sm_90)
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
#error SKIP: needs 227 KB of shared memory a block
#elif BATCH > 64
#error SKIP: batches of at most 64 images
#elif WIDTH % 8 != 0
#error SKIP: widths of whole eights
#endif


#include "on_chip_tiles.cuh"

#if REGISTER_TILES * PIECES_EACH * 4 > 112
#error SKIP: the weights do not fit shared memory and registers
#endif

STEPS_LAUNCH(THREADS, tiles(WIDTH, NEURONS) * CLUSTER, sizeof(block_t), CLUSTER);

#include "on_chip_steps.cuh"
