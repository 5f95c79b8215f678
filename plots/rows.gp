# Panels of rows with shared labels at the left of each line of panels; in a row pieces one behind the
# other, and a text behind them.
# Numbers: n_panels, n_columns (of panels), n_rows, n_legend, styles (of the legend), left (pixels of
# the labels); of each panel's axis: lows, highs, logarithmic, tops (the last tick).
call ARG1 ARG3 ARG4 ARG5 ARG6 ARG7
data = ARG2

item(list, p) = word(list, p + 1) + 0.0
top_pixels = 68
bottom_pixels = n_legend > 0 ? 66 : 40
n_lines = (n_panels + n_columns - 1) / n_columns
panel_height = (height - top_pixels - bottom_pixels + 0.0) / n_lines
panel_width = (width - left - 20.0) / n_columns

power(x) = 10.0 ** floor(log10(x))
step_of(x) = x / power(x) <= 1 ? power(x) : x / power(x) <= 2 ? 2 * power(x) : \
    x / power(x) <= 5 ? 5 * power(x) : 10 * power(x)

set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.4,0.2
set multiplot
unset key
set yrange [n_rows - 0.4:-0.7]
unset ytics

do for [l = 0:n_lines - 1] {
    set tmargin at screen from_top(top_pixels + 20 + l * panel_height)
    set bmargin at screen from_top(top_pixels + (l + 1) * panel_height - 44)
    # ---- labels
    unset logscale
    unset grid
    unset xtics
    unset xlabel
    set border 0
    set lmargin at screen 0
    set rmargin at screen from_left(left)
    set xrange [0:left]
    plot data index 0 using 2:1:(strcol(3)) with labels left font small notitle
    unset label 1
    unset label 2
    unset label 3
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
        if (item(logarithmic, p) == 1) {
            set logscale x 10
            first = int(floor(log10(low) + 0.5))
            final = int(floor(log10(high)))
            do for [e = first:final:(final - first > 6 ? 3 : final - first > 3 ? 2 : 1)] {
                # At the right end it would run into the next panel's.
                set xtics add ((e * log(10) - log(low)) / log(high / low) < 0.93 ? decade(e) : '' 10.0 ** e)
            }
            set xrange [0.9999 * low:high]
        } else {
            unset logscale x
            set xtics 0,step_of(high / 4.0),item(tops, p) format '%g'
            set xrange [0:high]
        }
        # Columns: row, from, to, style, hollow.
        start(x) = x < low ? low : x
        plot data index 2 * p + 2 using ($5 == 0 ? $3 : NaN):1:(start($2)):3:($1 - 0.38):($1 + 0.38):4 \
                 with boxxyerror fillstyle solid 1.0 noborder linecolor variable notitle, \
             data index 2 * p + 2 using ($5 == 1 ? $3 : NaN):1:(start($2)):3:($1 - 0.38):($1 + 0.38):4 \
                 with boxxyerror fillstyle empty linewidth 1.5 linecolor variable notitle, \
             data index 2 * p + 3 using (start($2)):1:(strcol(3)) with labels left boxed \
                 offset 0.6,0 font small notitle, \
             data index 1 using ($1 == p ? low : NaN):(n_rows - 0.4):(strcol(3)) with labels left \
                 offset 0,-2.0 font small notitle, \
             data index 1 using ($1 == p ? low : NaN):(-0.7):(strcol(2)) with labels left \
                 offset 0,0.8 notitle
    }
}

# ---- the legend, as wide as the chart
if (n_legend > 0) {
    unset logscale
    set lmargin at screen from_left(left)
    set rmargin at screen from_right(20)
    set border 0
    unset xtics
    unset xlabel
    unset grid
    set xrange [0:1]
    set key at screen 0.5, screen from_bottom(32) center bottom horizontal Left reverse samplen 1.2
    plot for [j = 0:n_legend - 1] data index 2 * n_panels + 2 + j using (NaN):(NaN) with boxes \
             fillstyle solid 1.0 noborder linetype style_of(j) title columnheader(2)
}
unset multiplot
