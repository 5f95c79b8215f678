# One phase of one case over many runs: medians with 95 % intervals.
# Numbers: n_runs, y_low, y_high (µs).

set margins at screen from_left(85), at screen from_right(25), \
    at screen from_bottom(115), at screen from_top(70)
unset key
set xrange [0.4:n_runs + 0.6]
set yrange [y_low:y_high]
set xtics rotate by 40 right font small scale 0.4
set ylabel 'time, µs'

# Without an interval, a bar of no length.
plot data index 0 using 1:2:(valid(3) ? $3 : $2):(valid(4) ? $4 : $2):xticlabels(5) \
         with yerrorbars linecolor rgb '#0072B2' pointtype 7 pointsize 0.7 linewidth 1.2 notitle
