# One phase of one case over many runs: medians with 95 % intervals, the levels of the step fit, and
# each step with its change.
# Numbers: n_runs, n_steps, y_low, y_high (µs).

set margins at screen from_left(85), at screen from_right(25), \
    at screen from_bottom(115), at screen from_top(70)
unset key
set xrange [0.4:n_runs + 0.6]
set yrange [y_low:y_high]
set xtics rotate by 40 right font small scale 0.4
set ylabel 'time, µs'

# Without an interval, a bar of no length.
plot data index 0 using 1:2:(valid(3) ? $3 : $2):(valid(4) ? $4 : $2):xticlabels(6) \
         with yerrorbars linecolor rgb '#0072B2' pointtype 7 pointsize 0.7 linewidth 1.2 notitle, \
     data index 0 using ($1 - 0.5):5:(1):(0) with vectors nohead linecolor rgb '#D55E00' \
         linewidth 2.4 notitle, \
     for [i = 1:(n_steps > 0)] data index 1 using ($1 - 0.5):(y_low):(0):(y_high - y_low) \
         with vectors nohead linecolor rgb '#888888' dashtype (4, 4) notitle, \
     for [i = 1:(n_steps > 0)] data index 1 using ($1 - 0.4):(y_high - 0.06 * (y_high - y_low)):3 \
         with labels left font small textcolor rgb '#D55E00' noenhanced notitle
