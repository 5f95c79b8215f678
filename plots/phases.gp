# Stacked bars of phases on a log axis, with the shares of the phases in per cent below each bar.
# Numbers: n_bars, n_phases, styles, y_low, y_high (decades), row_height.

table_height = n_phases * row_height
bars_bottom = 95 + table_height
floor_us = 10.0 ** y_low

# Columns from 3 on: the phases; then total, throttled, status.
total = 3 + n_phases
throttled = total + 1
status = total + 2
part(j) = column(j) > 0 ? column(j) : 0
top(j) = sum [k = 3:j] part(k)
start(j) = j == 3 || top(j - 1) < floor_us ? floor_us : top(j - 1)
shown(j, hollow) = part(j) > 0 && column(throttled) == hollow ? 1 : NaN

set multiplot

set margins at screen from_left(112), at screen from_right(25), \
    at screen from_bottom(bars_bottom), at screen from_top(98)
set key at screen 0.5, screen from_top(64) center top horizontal Left reverse samplen 1.2
set xrange [-0.6:n_bars - 0.4]
set logscale y 10
set yrange [lowest(y_low):highest(y_high)]
set ytics () scale 0.6
do for [e = y_low:y_high] { set ytics add (decade(e) 10.0 ** e) }
if (y_high - y_low <= 2) {
    do for [e = y_low:y_high - 1] {
        set ytics add (between(e, 2) 2 * 10.0 ** e, between(e, 5) 5 * 10.0 ** e)
    }
}
set ylabel 'time, µs (log scale; bars start at ' . decade(y_low) . ' µs)' offset 0.5,0
set xtics () scale 0
set xlabel size_title offset 0,0.4
plot for [j = 3:2 + n_phases] data index 0 \
         using 1:(shown(j, 0) * top(j)):($1 - 0.4):($1 + 0.4):(start(j)):(top(j)):xticlabels(2) \
         with boxxyerror fillstyle solid 1.0 border rgb '#ffffff' linewidth 0.5 \
         linetype style_of(j - 3) title columnheader(j), \
     for [j = 3:2 + n_phases] data index 0 \
         using 1:(shown(j, 1) * top(j)):($1 - 0.4):($1 + 0.4):(start(j)):(top(j)) \
         with boxxyerror fillstyle empty linewidth 1.5 linetype style_of(j - 3) notitle, \
     data index 0 using 1:(floor_us * 1.15):(strcol(status)) with labels rotate by 90 left \
         font small textcolor rgb '#777777' notitle

unset label
unset key
unset logscale y
unset xlabel
unset xtics
set border 0
unset grid
set tmargin at screen from_bottom(bars_bottom - 62)
set bmargin at screen from_bottom(bars_bottom - 62 - table_height)
set yrange [n_phases - 0.5:-0.5]
set ytics () scale 0 textcolor rgb '#222222'
unset ylabel
set label 4 'share, %' at screen from_left(88), screen from_bottom(bars_bottom - 52) right \
    font small textcolor rgb '#555555'
plot data index 1 using 1:2:(strcol(4)):yticlabels(3) with labels font small notitle

unset multiplot
