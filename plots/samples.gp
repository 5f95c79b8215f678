# Left: samples in the order taken, rounds apart by grey lines, the median dashed. Right: how they
# are distributed.
# Numbers: median, low, high (µs), n_samples, n_rounds.
call ARG1 ARG3 ARG4 ARG5 ARG6 ARG7
data = ARG2

air = high > low ? 0.04 * (high - low) : 0.01 * high
set multiplot
unset key
set yrange [low - air:high + air]
set tmargin at screen from_top(70)
set bmargin at screen from_bottom(80)

set lmargin at screen from_left(95)
set rmargin at screen from_left(0.72 * width)
set xrange [-1:n_samples]
set xlabel 'sample, in the order taken'
set ylabel 'time, µs'
set arrow 1 from graph 0, first median to graph 1, first median nohead linecolor rgb '#000000' \
    linewidth 1.5 dashtype (8, 6) front
plot data index 2 using ($1 - 0.5):(low - air):(0):(high - low + 2 * air) with vectors nohead \
         linecolor rgb '#cccccc' linewidth 0.8 notitle, \
     data index 0 using 1:2 with points pointtype 7 pointsize 0.4 linecolor rgb '#0072B2' notitle

unset label 1
unset label 2
unset label 3
set lmargin at screen from_left(0.72 * width + 40)
set rmargin at screen from_right(25)
set xrange [0:*]
set format y ''
unset ylabel
set xlabel 'samples in a bin'
plot data index 1 using 3:(0.5 * ($1 + $2)):(0):3:1:2 with boxxyerror fillstyle solid 1.0 \
         border rgb '#ffffff' linewidth 0.5 linecolor rgb '#0072B2' notitle
unset multiplot
