# Horizontal bars of one-time costs, grouped by contender, on a log axis.
# Numbers: n_rows, y_low, y_high (decades of the time axis).

set margins at screen from_left(340), at screen from_right(80), \
    at screen from_bottom(85), at screen from_top(70)
unset key
unset grid
set grid xtics linecolor rgb '#dddddd' linetype 1 linewidth 0.6
set logscale x 10
set xrange [lowest(y_low):highest(y_high)]
set yrange [n_rows - 0.3:-0.7]
set xtics () scale 0.6
# Labels of more decades would touch each other.
step = y_high - y_low > 7 ? 2 : 1
do for [e = y_low:y_high:step] { set xtics add (decade(e) 10.0 ** e) }
set xlabel 'time, µs (log scale; bars start at ' . decade(y_low) . ' µs)'
set ytics () scale 0
# Columns: row, contender, cost, time, text, line type.
plot data index 0 using 4:1:(10.0 ** y_low):4:($1 - 0.4):($1 + 0.4):6:yticlabels(3) \
         with boxxyerror fillstyle solid 1.0 noborder linecolor variable notitle, \
     data index 0 using 4:1:5 with labels left offset 0.6,0 font small notitle, \
     data index 0 using (10.0 ** y_low):1:2 with labels right offset -14,0 notitle
