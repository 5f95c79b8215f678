# A line of two panels per size, with shared labels at the left: rows of pieces, a text after each.
# Numbers: n_panels, n_columns, n_rows, first_style; of each panel: lows, highs (ends of the axis), tops (the last tick),
# logarithmic.

item(list, p) = word(list, p + 1) + 0.0
piece(j) = j == 1 ? 'kernels and copies' : j == 2 ? 'only the driver''s allocator' : 'gaps'
left = 290
top_pixels = 88
bottom_pixels = 66
first_row = -0.7
n_lines = (n_panels + n_columns - 1) / n_columns
panel_height = (height - top_pixels - bottom_pixels + 20.0) / n_lines
panel_width = (width - left - 20.0) / n_columns

# About four ticks at 1, 2 or 5 times a power of ten.
power(x) = 10.0 ** floor(log10(x))
step_of(x) = x / power(x) <= 1 ? power(x) : x / power(x) <= 2 ? 2 * power(x) : \
    x / power(x) <= 5 ? 5 * power(x) : 10 * power(x)
# A logarithmic axis clips pieces at its low end.
start(x) = x < low ? low : x

set multiplot
unset key
set yrange [n_rows - 0.4:first_row]
unset ytics

do for [l = 0:n_lines - 1] {
    set tmargin at screen from_top(top_pixels + l * panel_height)
    set bmargin at screen from_top(top_pixels + (l + 1) * panel_height - 80)
    # ---- labels
    unset logscale
    unset grid
    unset xtics
    set border 0
    set lmargin at screen 0
    set rmargin at screen from_left(left)
    set xrange [0:left]
    plot data index 0 using 2:1:(strcol(3)) with labels left font small notitle
    unset label
    # ---- panels
    set border 3 linecolor rgb '#888888'
    set grid xtics linecolor rgb '#dddddd' linetype 1 linewidth 0.6
    last = (l + 1) * n_columns < n_panels ? (l + 1) * n_columns : n_panels
    do for [p = l * n_columns:last - 1] {
        place = left + (p - l * n_columns) * panel_width
        low = item(lows, p)
        high = item(highs, p)
        set lmargin at screen from_left(place)
        set rmargin at screen from_left(place + panel_width - 16)
        set xtics () scale 0.6 nomirror font small
        if (item(logarithmic, p)) {
            set logscale x 10
            do for [e = int(floor(log10(low) + 0.5)):int(floor(log10(high)))] {
                # At the right end a label would overlap the next panel's.
                set xtics add ((e * log(10) - log(low)) / log(high / low) < 0.93 ? decade(e) : '' 10.0 ** e)
            }
            set xrange [0.9999 * low:high]
        } else {
            unset logscale x
            step = step_of(high / 4.0)
            do for [i = 0:int((item(tops, p) + 0.01 * step) / step)] {
                set xtics add (sprintf('%g', i * step) i * step)
            }
            set xrange [0:high]
        }
        # Columns of pieces: row, from, to, line type; of texts: row, end, text.
        plot data index 2 * p + 2 using 3:1:(start($2)):3:($1 - 0.38):($1 + 0.38):4 \
                 with boxxyerror fillstyle solid 1.0 noborder linecolor variable notitle, \
             data index 2 * p + 3 using (start($2)):1:(strcol(3)) with labels left \
                 offset 0.6,0 font small notitle, \
             data index 1 using ($1 == p ? low : NaN):(n_rows - 0.4):(strcol(3)) with labels left \
                 offset 0,-2.0 font small notitle, \
             data index 1 using ($1 == p ? low : NaN):(first_row):(strcol(2)) with labels left \
                 offset 0,0.8 notitle
    }
}

# ---- the legend, as wide as the chart
unset logscale
set lmargin at screen from_left(left)
set rmargin at screen from_right(20)
set border 0
unset xtics
unset grid
set xrange [0:1]
set key at screen 0.5, screen from_bottom(32) center bottom horizontal Left reverse samplen 1.2
plot for [j = 1:3] data index 1 using (NaN):(NaN) with boxes fillstyle solid 1.0 noborder \
         linetype first_style + j - 1 title piece(j)
unset multiplot
