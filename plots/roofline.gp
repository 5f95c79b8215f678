# Roofline: measured roofs as lines, a line of points per engine. Both axes are logarithmic.
# Numbers: n_roofs, n_lines, styles; x_low, x_high, y_low, y_high (exponents of 10); legend_height.

set margins at screen from_left(140), at screen from_right(40), \
    at screen from_bottom(90 + legend_height), at screen from_top(78)
set key at screen 0.5, screen from_bottom(38) center bottom horizontal maxcols 1 Left reverse \
    samplen 3 width 2
set logscale xy 10
set xtics () scale 0.6
set ytics () scale 0.6
do for [e = x_low:x_high] { set xtics add (decade(e) 10.0 ** e) }
do for [e = y_low:y_high] { set ytics add (decade(e) 10.0 ** e) }
# A little wider, or rounding would leave out the ticks at the ends.
set xrange [0.999 * 10.0 ** x_low:1.001 * 10.0 ** x_high]
set yrange [0.999 * 10.0 ** y_low:1.001 * 10.0 ** y_high]
set xlabel 'operations per byte moved, FLOP/B (log scale)'
set ylabel 'operations per second, GFLOP/s (log scale)'
set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.3,0.1

# Columns: roofs: intensity, speed; engines: intensity, speed, size to the left, to the right.
plot for [i = 0:n_roofs - 1] data index i using 1:2 with lines linecolor rgb '#000000' \
         linewidth 1.5 dashtype i + 1 title columnheader(2), \
     for [i = 0:n_lines - 1] data index n_roofs + i using 1:2 with linespoints \
         linetype style_of(i) title columnheader(2), \
     data index n_roofs using 1:2:(strcol(3)) with labels right offset -1,0 font small notitle, \
     data index n_roofs using 1:2:(strcol(4)) with labels left offset 1,0 font small notitle
