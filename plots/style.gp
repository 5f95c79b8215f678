# The common style of all charts; draws CHART.gp:
#
#   gnuplot -e 'width=…; height=…; …' -c style.gp CHART.gp DATA OUTPUT FORMAT TITLE NOTE FOOTER SIZE
#
# Numbers come by -e, strings as arguments, which gnuplot never evaluates. SIZE: the title of a size
# axis. Needs gnuplot 5.2.
data = ARG2
size_title = ARG8

set encoding utf8
if (ARG4 eq 'png') {
    set terminal pngcairo noenhanced size width,height font 'DejaVu Sans,10' background '#ffffff'
} else {
    set terminal svg noenhanced size width,height font 'DejaVu Sans,12' background '#ffffff'
}
set output ARG3
small = ARG4 eq 'png' ? ',8' : ',10'
large = ARG4 eq 'png' ? ',13' : ',16'

# Positions in pixels.
from_left(x) = x / (width + 0.0)
from_right(x) = 1 - x / (width + 0.0)
from_bottom(y) = y / (height + 0.0)
from_top(y) = 1 - y / (height + 0.0)

# ---- frame: title and note above, footer below, all at the left edge
set label 1 ARG5 at screen from_left(13), screen from_top(22) font large noenhanced
set label 2 ARG6 at screen from_left(14), screen from_top(46) font small \
    textcolor rgb '#555555' noenhanced
set label 3 ARG7 at screen from_left(14), screen from_bottom(13) font small \
    textcolor rgb '#555555' noenhanced
set border 3 linecolor rgb '#888888'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid ytics linecolor rgb '#dddddd' linetype 1 linewidth 0.6
set key noenhanced autotitle columnheader

# ---- line types: Okabe and Ito's palette, safe for the colour-blind (yellow darkened, an indigo
# added, for lines on white); rivals after PyTorch have colours of Paul Tol's qualitative schemes
# (SRON/EPS/TN/09-002). bench/plot/styles.c assigns line types to contenders; dashes and points
# distinguish those that share a colour. Each: number, colour, point type, dash type.
# CUDA rungs 01 to 10; 132: any other variant.
rungs = '1 #D55E00 7 1  2 #E69F00 5 1  3 #0072B2 9 1  4 #56B4E9 11 1  5 #C9B800 13 1  6 #332288 7 1 ' . \
        '7 #7F2704 5 1  8 #000000 9 1  130 #0072B2 11 4  131 #332288 13 4  132 #E69F00 9 4 '
# PyTorch: eager, inference, compile, graph, compile_graph.
pytorch = '9 #CC79A7 5 1  10 #CC79A7 11 2  11 #009E73 11 2  12 #009E73 9 1  37 #AA4499 13 1 '
# C: omp, ref, any other; PyTorch on the CPU: eager, compile, in their colours on the GPU.
cpu = '14 #8C510A 13 1  15 #999999 7 1  16 #8C510A 5 4  17 #CC79A7 5 2  18 #009E73 11 4 '
# Allocators as contenders: caching, malloc, async, arena.
allocators = '65 #0072B2 9 1  66 #D55E00 7 1  67 #E69F00 5 1  68 #332288 13 1'
# Rivals, a colour each: PyTorch, JAX, others in their order. Of a colour four variants, then the
# same on the CPU; the fastest at each size, if no single variant, has a thicker line.
rival_colours = '#009E73 #882255 #44AA99 #661100 #999933 #6699CC'
variant_points = '7 5 9 11'
contenders = rungs . pytorch . cpu . allocators
field(i) = word(contenders, i) + 0
do for [i = 1:words(contenders):4] {
    set linetype field(i) linecolor rgb word(contenders, i + 1) linewidth 2 pointtype field(i + 2) \
        pointsize (field(i + 2) < 9 ? 0.8 : 1.0) dashtype field(i + 3)
}
n_colours = words(rival_colours)
point_of(v) = word(variant_points, v % 4 + 1) + 0
# Dashed on the CPU. On the GPU PyTorch has one pattern, and of other rivals every second mode has another: some charts have
# lines without points.
dash_of(c, v) = v > 3 ? 2 : c == 0 ? 4 : v % 2 ? 5 : 1
do for [c = 0:n_colours - 1] {
    do for [v = 0:7] {
        set linetype 70 + 8 * c + v linecolor rgb word(rival_colours, c + 1) linewidth 2 \
            pointtype point_of(v) pointsize (v % 4 < 2 ? 0.8 : 1.0) \
            dashtype dash_of(c, v)
    }
    do for [v = 0:1] {
        set linetype 70 + 8 * n_colours + 2 * c + v linecolor rgb word(rival_colours, c + 1) \
            linewidth 2.6 pointtype 13 pointsize 0.9 dashtype v + 1
    }
}
# The fastest at each size, if no single contender: CUDA, C, PyTorch, PyTorch on the CPU.
set linetype 33 linecolor rgb '#1F4E9E' linewidth 2.4 pointtype 5 pointsize 0.7 dashtype 1
set linetype 34 linecolor rgb '#8C510A' linewidth 2 pointtype 13 pointsize 0.9 dashtype 2
set linetype 118 linecolor rgb '#00664B' linewidth 2.4 pointtype 9 pointsize 0.9 dashtype 1
set linetype 119 linecolor rgb '#00664B' linewidth 2 pointtype 5 pointsize 0.7 dashtype 4
# Limits. Bounds of a training: data from DRAM in every epoch, from the L2, a grid barrier per
# epoch, data read once; all weights moved three times a step in DRAM, and without what the L2
# keeps.
do for [i in '20 46 50'] { set linetype i + 0 linecolor rgb '#000000' linewidth 1.5 dashtype (12, 8) }
do for [i in '47 51'] { set linetype i + 0 linecolor rgb '#000000' linewidth 1.5 dashtype (4, 4) }
set linetype 48 linecolor rgb '#777777' linewidth 1.5 dashtype (12, 8)
set linetype 49 linecolor rgb '#777777' linewidth 1.5 dashtype (4, 4)

# ---- colours of areas
# Phases, from the bottom of a bar: init, malloc, h2d, kernel, forward, d2h, free, residual.
phase_colours = '#E69F00 #E69F00 #56B4E9 #D55E00 #D55E00 #0072B2 #C9B800 #999999'
# Parts of a call or a step (gather, forward, loss, backward, update, fused). Time of an epoch: kernels, only the driver's
# allocator, gaps.
part_colours = '#999999 #0072B2 #56B4E9 #D55E00 #E69F00 #009E73 #CC79A7 #332288 #C9B800 #882255 #44AA99 #CCCCCC'
split_colours = '#0072B2 #D55E00 #CCCCCC'
do for [i = 1:words(phase_colours)] { set linetype 20 + i linecolor rgb word(phase_colours, i) }
do for [i = 1:words(part_colours)] { set linetype 139 + i linecolor rgb word(part_colours, i) }
do for [i = 1:words(split_colours)] { set linetype 57 + i linecolor rgb word(split_colours, i) }

# A loop over no lines still evaluates its first.
style_of(i) = i < words(styles) ? word(styles, i + 1) + 0 : 1

# ---- numbers on axes
raised = '⁰ ¹ ² ³ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹'
exponent(e) = (e > 9 ? word(raised, e / 10 + 1) : '') . word(raised, e % 10 + 1)
power_of_two(e) = e < 10 ? sprintf('%d', 2 ** e) : '2' . exponent(e)
# Ticks of a size axis, of base 2 or 10: "512", "2¹⁰"; "500", "5 k", "50 M".
log_2(n) = int(floor(log(n) / log(2) + 0.5))
size_text(n) = size_base == 2 ? (size_plain ? sprintf('%d', n) : power_of_two(log_2(n))) : n <= 1000 ? sprintf('%g', n) : \
    n < 1e6 ? sprintf('%g k', n / 1e3) : sprintf('%g M', n / 1e6)
decades = '0.0000001 0.000001 0.00001 0.0001 0.001 0.01 0.1 1 10 100 1,000 10,000 100,000 1,000,000 10,000,000 ' . \
          '100,000,000 1,000,000,000 10,000,000,000'
decade(e) = word(decades, int(e) + 8)
# Labels of ticks at 2 and 5, for an axis with too few decades: "0.02", "2,000".
between(e, digit) = e < 0 ? decade(e)[1:strlen(decade(e)) - 1] . sprintf('%d', digit) \
                          : sprintf('%d', digit) . decade(e)[2:*]
# Rounding may drop a tick at the end of a logarithmic axis.
lowest(e) = 0.9999 * 10.0 ** e
highest(e) = 1.0001 * 10.0 ** e

# ---- a logarithmic size axis: numbers of chart_size_axis()
if (exists('size_ticks')) {
    tick_of(i) = word(size_ticks, i) + 0.0
    set logscale x size_base
    set xrange [size_low:size_high]
    set xtics () scale 0.6
    do for [i = 1:words(size_ticks)] { set xtics add (size_text(tick_of(i)) tick_of(i)) }
    set xlabel size_title . ' (log scale)' offset 0,0.3
}

load ARG1
