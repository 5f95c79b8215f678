# Signed bars on an axis that is linear around 0 and logarithmic beyond, each with the faster side
# and the difference; a dashed line where the lead changes, labelled if it changes once.
# Numbers: n_bars, linear (decade where the axis becomes logarithmic),
# below, above (decades from there to the ends of the bars; 0: no bars on that side), n_crossovers,
# n_untimed (sizes with a status above the axis instead of a bar).

linear_us = 10.0 ** linear
bent(us) = sgn(us) * log10(1 + abs(us) / linear_us)

# Labels are beyond the bars: three lines if there is room, else rotated.
in_lines = n_bars <= 14
label_pixels = in_lines ? 72 : 165
pixels_above = above > 0 || n_untimed > 0 ? label_pixels : 20
pixels_below = below > 0 ? label_pixels : 20
top_pixels = n_crossovers == 1 ? 95 : 75
crossover_width = n_crossovers == 1 ? 1.2 : 0.6
bottom_pixels = 80
a_pixel = (below + above) / (height - top_pixels - bottom_pixels - 0.0 - pixels_above - pixels_below)
# Three lines are anchored slightly above their middle.
gap_above = (in_lines ? 38 : 7) * a_pixel
gap_below = (in_lines ? 22 : 7) * a_pixel
above_bar = in_lines ? 'center' : 'rotate by 90 left'
below_bar = in_lines ? 'center' : 'rotate by 90 right'
y_top = above + pixels_above * a_pixel
y_bottom = -below - pixels_below * a_pixel

set margins at screen from_left(140), at screen from_right(25), \
    at screen from_bottom(bottom_pixels), at screen from_top(top_pixels)
unset key
set xrange [-0.6:n_bars - 0.4]
set yrange [y_bottom:y_top]
set xtics () scale 0
set xlabel size_title offset 0,-0.2
set ylabel 'difference, µs (log scale; linear within ±' . decade(linear) . ' µs)'
set ytics () scale 0.6
set ytics add ('0' 0)
# The first decade is at log10(2): no tick if it would touch the one at 0.
first_tick = log10(2) / a_pixel > 15 ? linear : linear + 1
do for [e = int(first_tick):int(linear + above)] {
    set ytics add ('+' . decade(e) bent(10.0 ** e))
}
do for [e = int(first_tick):int(linear + below)] {
    set ytics add ('−' . decade(e) bent(-10.0 ** e))
}
# Bars that end within about a decade would have two ticks only.
if (below < 1.2 && above < 1.2) {
    do for [step = 2:5:3] {
        if (step * linear_us < 10.0 ** (linear + above)) {
            set ytics add (sprintf('+%g', step * linear_us) bent(step * linear_us))
        }
        if (step * linear_us < 10.0 ** (linear + below)) {
            set ytics add (sprintf('−%g', step * linear_us) bent(-step * linear_us))
        }
    }
}
set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead linecolor rgb '#888888' linewidth 1

# Columns: index, batch, difference, lead (1 first side, 2 second, 3 neither), throttled, who,
# amount, ratio, status, line type.
led(hollow) = (column(4) == 1 || column(4) == 2) && column(5) == hollow ? bent(column(3)) : NaN
equal(hollow) = column(4) == 3 && column(5) == hollow ? bent(column(3)) : NaN
label_of(who, amount, ratio) = strlen(amount) == 0 ? who : \
    in_lines ? who . "\n" . amount . "\n" . ratio : who . '  ' . amount . '  ' . ratio
top_of(us) = us >= 0 ? bent(us) + gap_above : NaN
bottom_of(us) = us < 0 ? bent(us) - gap_below : NaN

plot data index 0 using 1:(led(0)):(0.8):10:xticlabels(2) with boxes \
         fillstyle solid 1.0 noborder linecolor variable notitle, \
     data index 0 using 1:(led(1)):(0.8):10 with boxes \
         fillstyle empty linewidth 1.5 linecolor variable notitle, \
     for [hollow = 0:1] data index 0 using 1:(equal(hollow)):(0.8) with boxes \
         fillstyle solid 1.0 noborder linecolor rgb '#999999' notitle, \
     data index 0 using 1:(top_of($3)):(label_of(strcol(6), strcol(7), strcol(8))) \
         with labels @above_bar font small notitle, \
     data index 0 using 1:(bottom_of($3)):(label_of(strcol(6), strcol(7), strcol(8))) \
         with labels @below_bar font small notitle, \
     data index 0 using 1:(7 * a_pixel):(strcol(9)) with labels rotate by 90 left font small \
         textcolor rgb '#777777' notitle, \
     data index 1 using ($1 - 0.5):(y_bottom):(0):(y_top - y_bottom) with vectors nohead \
         linecolor rgb '#000000' linewidth crossover_width dashtype (6, 4) notitle, \
     data index 1 using ($1 - 0.5):(y_top):3 with labels offset 0,1.6 font small notitle, \
     data index 2 using (n_bars - 0.45):($1 == 1 ? y_top : y_bottom + 6 * a_pixel):(strcol(2)) \
         with labels right offset 0,0.3 notitle
