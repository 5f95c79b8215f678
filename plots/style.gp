# One look for every chart, and what draws it:
#
#   gnuplot -e 'width=…; height=…; …' -c style.gp CHART.gp DATA OUTPUT FORMAT TITLE NOTE FOOTER SIZE
#
# Numbers come by -e, strings as arguments: gnuplot never evaluates those. SIZE is the title of an axis of
# sizes. Needs gnuplot 5.2.
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

# Margins and places in pixels, whatever the size of the chart.
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

# ---- line types: Okabe and Ito's palette, safe for the colour-blind (its yellow darkened, and one
# indigo added, for lines on white). bench/plot/series.c says which contender has which; dashes and
# points keep apart those that share a colour.
# CUDA rungs 01, 02, …; 8: any other variant.
set linetype 1 linecolor rgb '#D55E00' linewidth 2 pointtype 7 pointsize 0.8 dashtype 1
set linetype 2 linecolor rgb '#E69F00' linewidth 2 pointtype 5 pointsize 0.8 dashtype 1
set linetype 3 linecolor rgb '#0072B2' linewidth 2 pointtype 9 pointsize 1.0 dashtype 1
set linetype 4 linecolor rgb '#56B4E9' linewidth 2 pointtype 11 pointsize 1.0 dashtype 1
set linetype 5 linecolor rgb '#C9B800' linewidth 2 pointtype 13 pointsize 1.0 dashtype 1
set linetype 6 linecolor rgb '#332288' linewidth 2 pointtype 7 pointsize 0.8 dashtype 1
set linetype 7 linecolor rgb '#7F2704' linewidth 2 pointtype 5 pointsize 0.8 dashtype 1
set linetype 8 linecolor rgb '#E69F00' linewidth 2 pointtype 9 pointsize 1.0 dashtype 4
# PyTorch: eager, inference, compile, graph, any other.
set linetype 9 linecolor rgb '#CC79A7' linewidth 2 pointtype 5 pointsize 0.8 dashtype 1
set linetype 10 linecolor rgb '#CC79A7' linewidth 2 pointtype 11 pointsize 1.0 dashtype 2
set linetype 11 linecolor rgb '#009E73' linewidth 2 pointtype 11 pointsize 1.0 dashtype 2
set linetype 12 linecolor rgb '#009E73' linewidth 2 pointtype 9 pointsize 1.0 dashtype 1
set linetype 13 linecolor rgb '#009E73' linewidth 2 pointtype 13 pointsize 1.0 dashtype 4
# PyTorch compile_graph: 37.
set linetype 37 linecolor rgb '#AA4499' linewidth 2 pointtype 13 pointsize 1.0 dashtype 1
# C: omp, ref, any other; PyTorch on the CPU: eager, compile, any other.
set linetype 14 linecolor rgb '#333333' linewidth 2 pointtype 13 pointsize 1.0 dashtype 1
set linetype 15 linecolor rgb '#999999' linewidth 2 pointtype 7 pointsize 0.8 dashtype 1
set linetype 16 linecolor rgb '#333333' linewidth 2 pointtype 5 pointsize 0.8 dashtype 4
set linetype 17 linecolor rgb '#666666' linewidth 2 pointtype 5 pointsize 0.8 dashtype 2
set linetype 18 linecolor rgb '#666666' linewidth 2 pointtype 11 pointsize 1.0 dashtype 4
set linetype 19 linecolor rgb '#666666' linewidth 2 pointtype 13 pointsize 1.0 dashtype 1
# The limit.
set linetype 20 linecolor rgb '#000000' linewidth 1.5 dashtype (12, 8)
# Phases, from the bottom of a bar: init, malloc, h2d, kernel, forward, d2h, free, residual.
set linetype 21 linecolor rgb '#E69F00'
set linetype 22 linecolor rgb '#E69F00'
set linetype 23 linecolor rgb '#56B4E9'
set linetype 24 linecolor rgb '#D55E00'
set linetype 25 linecolor rgb '#D55E00'
set linetype 26 linecolor rgb '#0072B2'
set linetype 27 linecolor rgb '#F0E442'
set linetype 28 linecolor rgb '#999999'

# Contenders that a user added.
set linetype 29 linecolor rgb '#882255' linewidth 2 pointtype 7 pointsize 0.8 dashtype 1
set linetype 30 linecolor rgb '#44AA99' linewidth 2 pointtype 5 pointsize 0.8 dashtype 1
set linetype 31 linecolor rgb '#882255' linewidth 2 pointtype 9 pointsize 1.0 dashtype 2
set linetype 32 linecolor rgb '#44AA99' linewidth 2 pointtype 11 pointsize 1.0 dashtype 2
# The fastest at each size, where that is no single contender: CUDA, PyTorch, C, PyTorch on the CPU.
set linetype 33 linecolor rgb '#22303C' linewidth 2.4 pointtype 5 pointsize 0.7 dashtype 1
set linetype 34 linecolor rgb '#00664B' linewidth 2.4 pointtype 9 pointsize 0.9 dashtype 1
set linetype 35 linecolor rgb '#555555' linewidth 2 pointtype 13 pointsize 0.9 dashtype 2
set linetype 36 linecolor rgb '#888888' linewidth 2 pointtype 5 pointsize 0.7 dashtype 4

# Operations of one epoch of a training: forward, loss, backward, update; all of them in one.
set linetype 41 linecolor rgb '#0072B2'
set linetype 42 linecolor rgb '#56B4E9'
set linetype 43 linecolor rgb '#D55E00'
set linetype 44 linecolor rgb '#E69F00'
set linetype 45 linecolor rgb '#009E73'
# What bounds a training: data from DRAM in every epoch, from the L2, a grid barrier an epoch, data read
# once.
set linetype 46 linecolor rgb '#000000' linewidth 1.5 dashtype (12, 8)
set linetype 47 linecolor rgb '#000000' linewidth 1.5 dashtype (4, 4)
set linetype 48 linecolor rgb '#777777' linewidth 1.5 dashtype (12, 8)
set linetype 49 linecolor rgb '#777777' linewidth 1.5 dashtype (4, 4)
# … all weights moved three times a step in DRAM, and without what the L2 keeps.
set linetype 50 linecolor rgb '#000000' linewidth 1.5 dashtype (12, 8)
set linetype 51 linecolor rgb '#000000' linewidth 1.5 dashtype (4, 4)
# Parts of one step of a training: gather, forward, loss, backward, update; all of them in one.
set linetype 52 linecolor rgb '#999999'
set linetype 53 linecolor rgb '#0072B2'
set linetype 54 linecolor rgb '#56B4E9'
set linetype 55 linecolor rgb '#D55E00'
set linetype 56 linecolor rgb '#E69F00'
set linetype 57 linecolor rgb '#009E73'
# An epoch's time: kernels run, the driver's allocator works meanwhile, neither.
set linetype 58 linecolor rgb '#0072B2'
set linetype 59 linecolor rgb '#D55E00'
set linetype 60 linecolor rgb '#CCCCCC'
# Driver calls of the first epoch and of later ones; an allocation and a free.
set linetype 61 linecolor rgb '#D55E00'
set linetype 62 linecolor rgb '#E69F00'
set linetype 63 linecolor rgb '#0072B2'
set linetype 64 linecolor rgb '#56B4E9'
# Allocators that are contenders of their own: caching, malloc, async, arena.
set linetype 65 linecolor rgb '#0072B2' linewidth 2 pointtype 9 pointsize 1.0 dashtype 1
set linetype 66 linecolor rgb '#D55E00' linewidth 2 pointtype 7 pointsize 0.8 dashtype 1
set linetype 67 linecolor rgb '#E69F00' linewidth 2 pointtype 5 pointsize 0.8 dashtype 1
set linetype 68 linecolor rgb '#332288' linewidth 2 pointtype 13 pointsize 1.0 dashtype 1

# A loop over no lines still looks at its first.
style_of(i) = i < words(styles) ? word(styles, i + 1) + 0 : 1

# ---- numbers on axes
raised = '⁰ ¹ ² ³ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹'
exponent(e) = (e > 9 ? word(raised, e / 10 + 1) : '') . word(raised, e % 10 + 1)
power_of_two(e) = e < 10 ? sprintf('%d', 2 ** e) : '2' . exponent(e)
# Ticks of an axis of sizes, of base 2 or 10: "512", "2¹⁰"; "500", "5 k", "50 M".
log_2(n) = int(floor(log(n) / log(2) + 0.5))
size_text(n) = size_base == 2 ? (size_plain ? sprintf('%d', n) : power_of_two(log_2(n))) : n <= 1000 ? sprintf('%g', n) : \
    n < 1e6 ? sprintf('%g k', n / 1e3) : sprintf('%g M', n / 1e6)
decades = '0.0000001 0.000001 0.00001 0.0001 0.001 0.01 0.1 1 10 100 1,000 10,000 100,000 1,000,000 10,000,000 ' . \
          '100,000,000 1,000,000,000 10,000,000,000'
decade(e) = word(decades, int(e) + 8)
# Labels of ticks at 2 and 5, for an axis that has too few decades to be read by: "0.02", "2,000".
between(e, digit) = e < 0 ? decade(e)[1:strlen(decade(e)) - 1] . sprintf('%d', digit) \
                          : sprintf('%d', digit) . decade(e)[2:*]
# A tick that lies on the end of a logarithmic axis may be rounded off it.
lowest(e) = 0.9999 * 10.0 ** e
highest(e) = 1.0001 * 10.0 ** e

load ARG1
