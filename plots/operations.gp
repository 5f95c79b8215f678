# Bars of parts, grouped by contender, with the time above each bar; an outline as high as the
# sum of those timed separately. One or two panels with their own axes.
# Numbers: n_panels, used (the parts that there are), first_style, slots (width of each panel in bars), lows, highs
# (ends of each axis in µs), logarithmic (per panel).

part(i) = word(used, i) + 0
item(list, p) = word(list, p + 1) + 0.0
frame = 95.0
all_slots = item(slots, 0) + (n_panels > 1 ? item(slots, 1) : 0)
a_slot = (width - 25 - frame * n_panels) / all_slots

set multiplot
set key at screen 0.5, screen from_top(64) center top horizontal Left reverse samplen 1.2
unset xtics
set tmargin at screen from_top(98)
set bmargin at screen from_bottom(75)
first_place = frame
do for [p = 0:n_panels - 1] {
    bars = 2 * p
    groups = 2 * p + 1
    low = item(lows, p)
    high = item(highs, p)
    is_log = item(logarithmic, p)
    set lmargin at screen from_left(first_place)
    set rmargin at screen from_left(first_place + a_slot * item(slots, p))
    set xrange [0:item(slots, p)]
    unset logscale
    if (is_log) {
        set logscale y 10
        set yrange [0.9999 * low:high]
        set ytics () scale 0.6
        do for [e = int(floor(log10(low) + 0.5)):int(floor(log10(high)))] {
            set ytics add (decade(e) 10.0 ** e)
        }
        set ylabel 'time, µs (log scale; bars start at ' . decade(floor(log10(low) + 0.5)) . ' µs)'
    } else {
        set yrange [0:high]
        set ytics autofreq scale 0.6 format '%g'
        set ylabel 'time, µs'
    }
    # Columns of bars: x, time, low, high, text, part, throttled.
    # Columns of groups: x, engine, variant, from, to, sum, text, raised.
    shown(j, hollow) = column(6) == j && column(7) == hollow ? column(2) : NaN
    plot data index groups using 4:6:4:5:(low):6 with boxxyerror fillstyle empty linewidth 1 \
             linecolor rgb '#888888' notitle, \
         for [i = 1:words(used)] data index bars \
             using 1:(shown(part(i), 0)):($1 - 0.44):($1 + 0.44):(low):2 with boxxyerror \
             fillstyle solid 1.0 noborder linetype first_style + part(i) notitle, \
         for [i = 1:words(used)] data index bars \
             using 1:(shown(part(i), 1)):($1 - 0.44):($1 + 0.44):(low):2 with boxxyerror \
             fillstyle empty linewidth 1.5 linetype first_style + part(i) notitle, \
         data index bars using 1:3:(0):($4 - $3) with vectors nohead linewidth 1.2 \
             linecolor rgb '#222222' notitle, \
         data index bars using 1:(strcol(4) eq 'NaN' ? $2 : $4):(strcol(5)) with labels offset 0,0.6 font small notitle, \
         for [raised = 0:1] data index groups \
             using (0.5 * ($4 + $5)):($8 == raised ? $6 : NaN):(strcol(7)) with labels \
             offset 0,0.6 + raised font small textcolor rgb '#555555' notitle, \
         data index groups using 1:(low):(strcol(2) . "\n" . strcol(3)) with labels \
             offset 0,-1.4 font small notitle, \
         for [i = 1:words(used)] data index 2 * n_panels + i - 1 using (NaN):(NaN) with boxes \
             fillstyle solid 1.0 noborder linetype first_style + part(i) title columnheader(1)
    unset label
    unset key
    first_place = first_place + a_slot * item(slots, p) + frame
}
unset multiplot
