# Panels of horizontal bars with shared labels at the left of each line of panels, dashed reference
# lines in each panel, the 95 % interval of each median, and a text behind each bar.
# Numbers: n_panels, n_columns (of panels), n_rows, left (pixels of the labels), logarithmic, in_ms
# (axes are in ms), lows, highs (ends of each panel's axis in µs).
call ARG1 ARG3 ARG4 ARG5 ARG6 ARG7
data = ARG2

item(list, p) = word(list, p + 1) + 0.0
top_pixels = 62
bottom_pixels = 48
n_lines = (n_panels + n_columns - 1) / n_columns
panel_height = (height - top_pixels - bottom_pixels + 0.0) / n_lines
panel_width = (width - left - 20.0) / n_columns
heading = -1.1
unit = in_ms ? 'ms' : 'µs'
shift = in_ms ? 3 : 0

# About four ticks at 1, 2 or 5 times a power of ten.
power(x) = 10.0 ** floor(log10(x))
step_of(x) = x / power(x) <= 1 ? power(x) : x / power(x) <= 2 ? 2 * power(x) : \
    x / power(x) <= 5 ? 5 * power(x) : 10 * power(x)

# Texts stand on white, so that they can be read where the reference line passes.
set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.4,0.2

# A point is gone as soon as one of its columns that is looked at as a number is NaN.
behind(low) = strcol(4) eq 'NaN' ? low : $4 > low ? $4 : low

set multiplot
unset key
set yrange [n_rows - 0.4:-1.7]
unset ytics

do for [l = 0:n_lines - 1] {
    set tmargin at screen from_top(top_pixels + l * panel_height)
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
    plot data index 0 using ($4 == 0 ? $2 : NaN):($1 < 0 ? heading : $1):(strcol(3)) \
             with labels left font small notitle, \
         data index 0 using ($4 == 1 ? $2 : NaN):($1 < 0 ? heading : $1):(strcol(3)) \
             with labels left font small textcolor rgb '#999999' notitle
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
        set rmargin at screen from_left(place + panel_width - 14)
        set xlabel logarithmic ? 'time, ' . unit . ' (log; bars start at ' \
            . decade(floor(log10(low) + 0.5) - shift) . ')' : 'time, ' . unit offset 0,0.4 font small
        set xtics () scale 0.6 nomirror font small
        if (logarithmic) {
            set logscale x 10
            first = int(floor(log10(low) + 0.5))
            final = int(floor(log10(high)))
            do for [e = first:final:(final - first > 6 ? 3 : final - first > 3 ? 2 : 1)] {
                # At the right end it would run into the next panel's.
                set xtics add ((e * log(10) - log(low)) / log(high / low) < 0.93 ? decade(e - shift) : '' 10.0 ** e)
            }
            set xrange [0.9999 * low:high]
        } else {
            do for [i = 0:int(high / step_of(high / 4.0))] {
                set xtics add (sprintf('%g', i * step_of(high / 4.0) / 10.0 ** shift) i * step_of(high / 4.0))
            }
            set xrange [0:high]
        }
        # Columns: row, time, low, high, text, line type, throttled.
        plot data index p + 2 using ($7 == 0 ? $2 : NaN):1:(low):2:($1 - 0.38):($1 + 0.38):6 \
                 with boxxyerror fillstyle solid 1.0 noborder linecolor variable notitle, \
             data index p + 2 using ($7 == 1 ? $2 : NaN):1:(low):2:($1 - 0.38):($1 + 0.38):6 \
                 with boxxyerror fillstyle empty linewidth 1.5 linecolor variable notitle, \
             data index p + 2 using 2:1:3:4 with xerrorbars pointtype 0 linewidth 1.2 \
                 linecolor rgb '#222222' notitle, \
             data index 1 using ($1 == p ? $3 : NaN):(-0.6):(0):($4 + 1.2) with vectors \
                 nohead linecolor rgb '#000000' linewidth 1.2 dashtype (6, 4) notitle, \
             data index p + 2 using (behind(low)):1:(strcol(5)) with labels left \
                 boxed offset 0.6,0 font small notitle, \
             data index 1 using ($1 == p ? low : NaN):(heading):(strcol(2)) with labels left \
                 offset 0.3,0 notitle
    }
}
unset multiplot
