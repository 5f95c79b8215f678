# Above: a histogram and the ECDF of one case's samples. Below: the samples in the order taken,
# rounds separated by grey lines, passes by black ones. All with the median (dashed) and its 95 %
# interval over passes (band; none with too few passes), and both values of a bimodal phase (dotted).
# Triangles at the end of the axis are samples beyond it.
# Numbers: median, ci_low, ci_high, low, high (µs), n_samples, n_rounds, n_passes, bimodal.

margin = high > low ? 0.03 * (high - low) : 0.01 * high
end = high + margin
start = low - margin
strip = 0.66 * height # samples in order start here

set multiplot
unset key
set xrange [start:end]
set xtics rotate by 0 autofreq
set object 1 rectangle from first ci_low, graph 0 to first ci_high, graph 1 behind \
    fillstyle solid 1.0 noborder fillcolor rgb '#f3c9a6'
set arrow 1 from first median, graph 0 to first median, graph 1 nohead linecolor rgb '#000000' \
    linewidth 1.2 dashtype (8, 6) front
set tmargin at screen from_top(75)
set bmargin at screen from_top(strip - 40)
set xlabel 'time, µs' offset 0,0.3

set lmargin at screen from_left(85)
set rmargin at screen from_left(0.5 * width - 10)
set yrange [0:*]
set ylabel 'samples in a bin'
plot data index 1 using (0.5 * ($1 + $2)):3:1:2:(0):3 with boxxyerror fillstyle solid 1.0 \
         border rgb '#ffffff' linewidth 0.5 linecolor rgb '#0072B2' notitle

unset label
set lmargin at screen from_left(0.5 * width + 75)
set rmargin at screen from_right(25)
set yrange [0:1.02]
set ylabel 'cumulative share of samples (ECDF)'
plot data index 3 using 1:2 with steps linewidth 1.8 linecolor rgb '#0072B2' notitle

unset object 1
unset arrow 1
set object 2 rectangle from graph 0, first ci_low to graph 1, first ci_high behind \
    fillstyle solid 1.0 noborder fillcolor rgb '#f3c9a6'
set arrow 2 from graph 0, first median to graph 1, first median nohead linecolor rgb '#000000' \
    linewidth 1.2 dashtype (8, 6) front
set lmargin at screen from_left(85)
set tmargin at screen from_top(strip + 25)
set bmargin at screen from_bottom(75)
set xrange [-1:n_samples]
set yrange [start:end]
set xlabel 'sample, in the order taken; grey: new round' . (n_passes > 1 ? ', black: new pass' : '')
set ylabel 'time, µs'
plot data index 2 using ($1 - 0.5):(start):(0):(end - start) with vectors nohead \
         linecolor rgb '#cccccc' linewidth 0.8 notitle, \
     data index 2 using ($2 == 1 ? $1 - 0.5 : NaN):(start):(0):(end - start) with vectors nohead \
         linecolor rgb '#000000' linewidth 1 notitle, \
     for [i = 1:bimodal] data index 4 using (-1):1:(n_samples + 1):(0) with vectors nohead \
         linecolor rgb '#D55E00' linewidth 1.4 dashtype (2, 4) notitle, \
     for [i = 1:bimodal] data index 4 using (0):1:(strcol(2)) with labels left offset 0.5,0.7 \
         font small textcolor rgb '#D55E00' notitle, \
     data index 0 using 1:($2 <= high ? $2 : NaN) with points pointtype 7 pointsize 0.4 \
         linecolor rgb '#0072B2' notitle, \
     data index 0 using 1:($2 > high ? high + 0.5 * margin : NaN) with points pointtype 9 \
         pointsize 0.7 linecolor rgb '#D55E00' notitle
unset multiplot
