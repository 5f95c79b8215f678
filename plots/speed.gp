# Relative speed against size: a line per side, its 95 % interval as a band and a bar, the first one's ratios as numbers,
# and a line at 1.
# Numbers: n_lines, styles; those of chart_size_axis(); y_low, y_high (ratios), logarithmic;
# legend_height.

set margins at screen from_left(105), at screen from_right(115), \
    at screen from_bottom(90 + legend_height), at screen from_top(78)
set key at screen 0.5, screen from_bottom(38) center bottom horizontal maxcols 1 Left reverse \
    samplen 3 width 2

if (logarithmic) {
    set logscale y 10
    set ytics () scale 0.6
    first = int(floor(log10(y_low)))
    final = int(ceil(log10(y_high)))
    do for [e = first:final] { set ytics add (decade(e) . '×' 10.0 ** e) }
    if (log10(y_high / y_low) <= 3.5) {
        do for [e = first:final - 1] {
            set ytics add (between(e, 2) . '×' 2 * 10.0 ** e, between(e, 5) . '×' 5 * 10.0 ** e)
        }
    }
} else {
    set ytics format '%g×' scale 0.6
}
set yrange [y_low:y_high]
set ylabel 'speed relative to the strongest rival' . (logarithmic ? ' (log scale)' : '')

set arrow 1 from graph 0, first 1 to graph 1, first 1 nohead linecolor rgb '#000000' \
    linewidth 1.5 dashtype (12, 8)
set label 4 'strongest rival' at graph 1.008, first 1 left font small
set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.3,0.1

# A number stands above its interval, if there is one.
end_or(end, ratio) = valid(end) ? column(end) : ratio
# Columns: size, ratio, text, ends of the interval.
plot for [i = 0:n_lines - 1] data index i using 1:4:5 with filledcurves \
         fillstyle transparent solid 0.25 noborder linetype style_of(i) notitle, \
     for [i = 0:n_lines - 1] data index i using 1:2:(end_or(4, $2)):(end_or(5, $2)) with yerrorbars \
         linetype style_of(i) pointtype -1 notitle, \
     for [i = 0:n_lines - 1] data index i using 1:2 with linespoints \
         linetype style_of(i) title columnheader(2), \
     data index 0 using (strlen(strcol(3)) > 0 ? $1 : NaN):(end_or(5, $2)):(strcol(3)) \
         with labels center boxed offset 0,0.8 font small notitle
