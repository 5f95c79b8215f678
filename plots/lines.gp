# Time against size, one line per contender, both axes logarithmic. Bands: 95 % intervals of the
# medians; hollow points: throttled; dashed: limits.
# Numbers: n_lines, n_limits, styles; dashed (line types to draw so); those of chart_size_axis(); y_from, y_to; y_low, y_high (decades); those of chart_legend(); note_lines.

set margins at screen from_left(112), at screen from_right(25), \
    at screen from_bottom(90 + legend_height), at screen from_top(64 + 14 * note_lines)
set key at screen 0.5, screen from_bottom(38) center bottom horizontal maxcols legend_columns Left reverse \
    samplen 3 width legend_spread

do for [i = 1:words(dashed)] { set linetype word(dashed, i) + 0 dashtype (10, 5) }

set logscale y 10
set yrange [y_from:y_to]
set ytics () scale 0.6
# From a second on, milliseconds are easier to read.
unit = y_high >= 6 ? 3 : 0
do for [e = y_low:y_high] { set ytics add (decade(e - unit) 10.0 ** e) }
if (log10(y_to / y_from) <= 2.2) {
    do for [e = y_low:y_high - 1] {
        set ytics add (between(e - unit, 2) 2 * 10.0 ** e, between(e - unit, 5) 5 * 10.0 ** e)
    }
}
set ylabel (unit == 0 ? 'time, µs' : 'time, ms') . ' (log scale)'

plot for [i = 0:n_lines - 1] data index i using 1:3:4 with filledcurves \
         fillstyle transparent solid 0.25 noborder linetype style_of(i) notitle, \
     for [i = 0:n_lines - 1] data index i using 1:2 with linespoints \
         linetype style_of(i) title columnheader(2), \
     for [i = 0:n_lines - 1] data index i using 1:($5 == 1 ? $2 : NaN) with points \
         linetype style_of(i) linecolor rgb '#ffffff' pointsize 0.5 notitle, \
     for [i = n_lines:n_lines + n_limits - 1] data index i using 1:2 with lines \
         linetype style_of(i) title columnheader(2)
