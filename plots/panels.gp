# Panels of horizontal rows, with shared labels at the left of each line of panels and a text after
# each row: bars with the 95 % interval of each median, crossed by dashed reference lines; or,
# stacked, sequences of pieces.
# Numbers: stacked, n_panels, n_columns (of panels), n_rows, left (pixels of the labels), lows,
# highs (ends of each panel's axis; bars: µs), logarithmic. Bars: in_ms (axes in ms). Stacked:
# logarithmic and tops (the last tick) of each panel, n_legend, styles (of the legend).

item(list, p) = word(list, p + 1) + 0.0
is_logarithmic(p) = stacked ? item(logarithmic, p) : logarithmic
unit = !stacked && in_ms ? 'ms' : 'µs'
shift = !stacked && in_ms ? 3 : 0

# ---- layout: labels of bars have a heading beside the panels' titles
top_pixels = stacked ? 68 : 62
above_rows = stacked ? 20 : 0
bottom_pixels = !stacked ? 48 : n_legend > 0 ? 66 : 40
gap = stacked ? 16 : 14
heading = -1.1
first_row = stacked ? -0.7 : -1.7
n_lines = (n_panels + n_columns - 1) / n_columns
panel_height = (height - top_pixels - bottom_pixels + 0.0) / n_lines
panel_width = (width - left - 20.0) / n_columns

# About four ticks at 1, 2 or 5 times a power of ten.
power(x) = 10.0 ** floor(log10(x))
step_of(x) = x / power(x) <= 1 ? power(x) : x / power(x) <= 2 ? 2 * power(x) : \
    x / power(x) <= 5 ? 5 * power(x) : 10 * power(x)

# A logarithmic axis clips pieces at its low end. The text of a bar without an interval is at the
# end of the bar: gnuplot drops a point if any of its numeric columns is NaN.
start(x) = x < low ? low : x
end_of(k) = strcol(k) eq 'NaN' ? low : start(column(k))
text_at(high, time) = strcol(high) eq 'NaN' ? end_of(time) : end_of(high)

# Texts have a white background where reference lines cross them.
set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.4,0.2

set multiplot
unset key
set yrange [n_rows - 0.4:first_row]
unset ytics

do for [l = 0:n_lines - 1] {
    set tmargin at screen from_top(top_pixels + above_rows + l * panel_height)
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
    if (stacked) {
        plot data index 0 using 2:1:(strcol(3)) with labels left font small notitle
    } else {
        plot data index 0 using ($4 == 0 ? $2 : NaN):($1 < 0 ? heading : $1):(strcol(3)) \
                 with labels left font small notitle, \
             data index 0 using ($4 == 1 ? $2 : NaN):($1 < 0 ? heading : $1):(strcol(3)) \
                 with labels left font small textcolor rgb '#999999' notitle
    }
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
        set rmargin at screen from_left(place + panel_width - gap)
        set xtics () scale 0.6 nomirror font small
        if (is_logarithmic(p)) {
            set logscale x 10
            first = int(floor(log10(low) + 0.5))
            final = int(floor(log10(high)))
            do for [e = first:final:(final - first > 6 ? 3 : final - first > 3 ? 2 : 1)] {
                # At the right end a label would overlap the next panel's.
                set xtics add ((e * log(10) - log(low)) / log(high / low) < 0.93 ? decade(e - shift) : '' 10.0 ** e)
            }
            set xrange [0.9999 * low:high]
        } else {
            unset logscale x
            step = step_of(high / 4.0)
            last_tick = stacked ? item(tops, p) + 0.01 * step : high # 0.3 / 0.1 is less than 3
            do for [i = 0:int(last_tick / step)] {
                set xtics add (sprintf('%g', i * step / 10.0 ** shift) i * step)
            }
            set xrange [0:high]
        }
        if (stacked) {
            # Columns of pieces: row, from, to, line type, hollow; of texts: row, end, text.
            plot data index 2 * p + 2 using ($5 == 0 ? $3 : NaN):1:(start($2)):3:($1 - 0.38):($1 + 0.38):4 \
                     with boxxyerror fillstyle solid 1.0 noborder linecolor variable notitle, \
                 data index 2 * p + 2 using ($5 == 1 ? $3 : NaN):1:(start($2)):3:($1 - 0.38):($1 + 0.38):4 \
                     with boxxyerror fillstyle empty linewidth 1.5 linecolor variable notitle, \
                 data index 2 * p + 3 using (start($2)):1:(strcol(3)) with labels left boxed \
                     offset 0.6,0 font small notitle, \
                 data index 1 using ($1 == p ? low : NaN):(n_rows - 0.4):(strcol(3)) with labels left \
                     offset 0,-2.0 font small notitle, \
                 data index 1 using ($1 == p ? low : NaN):(first_row):(strcol(2)) with labels left \
                     offset 0,0.8 notitle
        } else {
            set xlabel 'time, ' . unit . (logarithmic ? ' (log; bars start at ' . decade(first - shift) . ')' : '') \
                offset 0,0.4 font small
            # Columns: row, time, low, high, text, line type, throttled.
            plot data index p + 2 using ($7 == 0 ? $2 : NaN):1:(low):2:($1 - 0.38):($1 + 0.38):6 \
                     with boxxyerror fillstyle solid 1.0 noborder linecolor variable notitle, \
                 data index p + 2 using ($7 == 1 ? $2 : NaN):1:(low):2:($1 - 0.38):($1 + 0.38):6 \
                     with boxxyerror fillstyle empty linewidth 1.5 linecolor variable notitle, \
                 data index p + 2 using (strcol(4) eq 'NaN' ? NaN : $2):1:3:4 with xerrorbars pointtype 0 linewidth 1.2 \
                     linecolor rgb '#222222' notitle, \
                 data index 1 using ($1 == p ? $3 : NaN):(-0.6):(0):($4 + 1.2) with vectors nohead \
                     linecolor rgb '#000000' linewidth 1.2 dashtype (6, 4) notitle, \
                 data index p + 2 using (text_at(4, 2)):1:(strcol(5)) with labels left boxed \
                     offset 0.6,0 font small notitle, \
                 data index 1 using ($1 == p ? low : NaN):(heading):(strcol(2)) with labels left \
                     offset 0.3,0 notitle
        }
    }
}

# ---- the legend, as wide as the chart
if (stacked && n_legend > 0) {
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
