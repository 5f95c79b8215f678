# A line a contender against batch, both axes logarithmic, with bands of the 95 % interval of each
# median; hollow points are throttled; dashed: the limit.
# Numbers: n_lines, n_limits, styles, x_low, x_high (powers of two), y_low, y_high (decades),
# legend_columns, legend_height.
call ARG1 ARG3 ARG4 ARG5 ARG6 ARG7
data = ARG2

set lmargin at screen from_left(95)
set rmargin at screen from_right(25)
set tmargin at screen from_top(78)
set bmargin at screen from_bottom(90 + legend_height)
set key at screen 0.5, screen from_bottom(38) center bottom horizontal maxcols legend_columns Left reverse \
    samplen 3 width 2

set logscale x 2
set logscale y 10
set xrange [2.0 ** (x_low - 0.4):2.0 ** (x_high + 0.4)]
set yrange [lowest(y_low):highest(y_high)]
set xtics () scale 0.6
do for [e = int(floor(x_low)):int(ceil(x_high))] { set xtics add (power_of_two(e) 2.0 ** e) }
set ytics () scale 0.6
do for [e = y_low:y_high] { set ytics add (decade(e) 10.0 ** e) }
if (y_high - y_low <= 2) {
    do for [e = y_low:y_high - 1] {
        set ytics add (between(e, 2) 2 * 10.0 ** e, between(e, 5) 5 * 10.0 ** e)
    }
}
set xlabel 'batch, samples (log scale)' offset 0,0.3
set ylabel 'time, µs (log scale)'

plot for [i = 0:n_lines - 1] data index i using 1:3:4 with filledcurves \
         fillstyle transparent solid 0.25 noborder linetype style_of(i) notitle, \
     for [i = 0:n_lines - 1] data index i using 1:2 with linespoints \
         linetype style_of(i) title columnheader(2), \
     for [i = 0:n_lines - 1] data index i using 1:($5 == 1 ? $2 : NaN) with points \
         linetype style_of(i) linecolor rgb '#ffffff' pointsize 0.5 notitle, \
     for [i = n_lines:n_lines + n_limits - 1] data index i using 1:2 with lines \
         linetype style_of(i) title columnheader(2)
