# Panels side by side: a bar per rung, its stages stacked from left to right, then their sum.
# Numbers: n_panels, n_rows, n_parts, first_style, left (pixels of the labels), highs (ends of each
# panel's axis in µs).

parts = 'gather forward loss backward update fused'
item(list, p) = word(list, p + 1) + 0.0
panel_width = (width - left - 20.0) / n_panels
bottom_pixels = 78

set multiplot
unset key
unset ytics
set yrange [n_rows - 0.4:-0.6]
set tmargin at screen from_top(108)
set bmargin at screen from_bottom(bottom_pixels)

# ---- labels
set border 0
unset xtics
unset grid
set lmargin at screen 0
set rmargin at screen from_left(left)
set xrange [0:left]
plot data index 0 using (16):1:(strcol(2)) with labels left font small notitle
unset label

# ---- panels
set border 3 linecolor rgb '#888888'
set grid xtics linecolor rgb '#dddddd' linetype 1 linewidth 0.6
do for [p = 0:n_panels - 1] {
    place = left + p * panel_width
    set lmargin at screen from_left(place)
    set rmargin at screen from_left(place + panel_width - 16)
    set xrange [0:item(highs, p)]
    set xtics autofreq scale 0.6 nomirror font small
    set xlabel 'time, µs' offset 0,0.4 font small
    # Columns: row, from, to, piece, part, stage.
    of(j, k) = column(5) == j ? column(k) : NaN
    plot for [j = 0:n_parts - 1] data index 2 * p + 2 \
             using 2:1:(of(j, 2)):(of(j, 3)):($1 - 0.38):($1 + 0.38) with boxxyerror \
             fillstyle solid 1.0 border rgb '#ffffff' linewidth 0.8 linetype first_style + j \
             notitle, \
         data index 2 * p + 2 using (0.5 * ($2 + $3)):1:(strcol(4)) with labels center font small \
             textcolor rgb '#ffffff' notitle, \
         data index 2 * p + 3 using 2:1:(strcol(3)) with labels left offset 0.5,0 font small notitle, \
         data index 1 using ($1 == p ? 0 : NaN):(-0.6):(strcol(2)) with labels left \
             offset 0,0.8 notitle
}

# ---- legend, as wide as the chart
set lmargin at screen from_left(left)
set rmargin at screen from_right(20)
set border 0
unset xtics
unset xlabel
unset grid
set key at screen 0.5, screen from_top(62) center top horizontal Left reverse samplen 1.2
plot for [j = 0:n_parts - 1] data index 2 using (NaN):(NaN) with boxes fillstyle solid 1.0 noborder \
         linetype first_style + j title word(parts, j + 1)
unset multiplot
