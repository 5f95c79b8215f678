# Above: the loss over a training, one line per contender, all overlaid; marks at different places
# distinguish lines that coincide. Below: the relative difference of each from the reference, and
# the roundoff of float32 (dashed); differences of 0 are at the lower end. If the first steps do
# nearly all, an inset shows the rest.
# Numbers: n_lines, styles, in_epochs, last_step, loss_low, loss_high, difference_low,
# difference_high (decades), any_equal, noise, inset, inset_from, inset_low, inset_high; those of
# chart_legend().

top_pixels = 70
bottom_pixels = 85 + legend_height
upper_share = 0.5
panels = height - top_pixels - bottom_pixels + 0.0
split = top_pixels + upper_share * panels

power_of_ten(e) = e < 0 ? '10⁻' . exponent(-e) : e == 0 ? '1' : '10' . exponent(e)

set multiplot
set lmargin at screen from_left(112)
set rmargin at screen from_right(25)
set xrange [-0.02 * last_step:1.02 * last_step]
set logscale y 10
unset key

set tmargin at screen from_top(top_pixels)
set bmargin at screen from_top(split - 12)
set yrange [lowest(loss_low):highest(loss_high)]
set ytics () scale 0.6
do for [e = loss_low:loss_high] { set ytics add (decade(e) 10.0 ** e) }
if (loss_high - loss_low <= 3) {
    do for [e = loss_low:loss_high - 1] {
        set ytics add (between(e, 2) 2 * 10.0 ** e, between(e, 5) 5 * 10.0 ** e)
    }
}
set format x ''
set ylabel 'loss (log scale)'
plot for [i = 0:n_lines - 1] data index i using 1:2 with lines \
         linetype style_of(i) linewidth 1.2 notitle, \
     for [i = 0:n_lines - 1] data index i using 1:($4 == 1 ? $2 : NaN) with points \
         linetype style_of(i) notitle

unset label
if (inset) {
    set margins at screen from_left(95 + 0.32 * (width - 120)), at screen from_right(45), \
        at screen from_top(top_pixels + 0.52 * (split - top_pixels)), at screen from_top(top_pixels + 24)
    set object 1 rectangle from graph 0, graph 0 to graph 1, graph 1 behind \
        fillstyle solid 1.0 noborder fillcolor rgb '#ffffff'
    unset logscale y
    set yrange [inset_low:inset_high]
    set xrange [inset_from - 0.02 * last_step:1.02 * last_step]
    set ytics autofreq format '%g' font small
    set format x '%g'
    set xtics font small
    set ylabel sprintf('from %g on, linear', inset_from) font small
    plot for [i = 0:n_lines - 1] data index i using ($1 >= inset_from ? $1 : NaN):2 with lines \
             linetype style_of(i) linewidth 1.2 notitle, \
         for [i = 0:n_lines - 1] data index i \
             using ($1 >= inset_from ? $1 : NaN):($4 == 1 ? $2 : NaN) with points \
             linetype style_of(i) notitle
    unset object 1
    set logscale y 10
    set xrange [-0.02 * last_step:1.02 * last_step]
    set xtics font ''
    set ytics font ''
    set lmargin at screen from_left(112)
    set rmargin at screen from_right(25)
}
set tmargin at screen from_top(split + 12)
set bmargin at screen from_bottom(bottom_pixels)
set key at screen 0.5, screen from_bottom(34) center bottom horizontal maxcols legend_columns \
    Left reverse samplen 3 width legend_spread
set format x '%g'
set xlabel in_epochs ? 'epoch' : 'step' offset 0,0.3
set ylabel 'relative difference (log scale)' font ''
set yrange [lowest(difference_low):highest(difference_high)]
set ytics () scale 0.6
step_of = difference_high - difference_low > 8 ? 2 : 1
do for [e = difference_low + any_equal:difference_high:step_of] {
    set ytics add (power_of_ten(e) 10.0 ** e)
}
if (any_equal) { set ytics add ('equal' 10.0 ** difference_low) }
shown(difference) = difference > 0 ? difference : difference == 0 ? 10.0 ** difference_low : NaN
set arrow 1 from graph 0, first noise to graph 1, first noise nohead linetype 20
plot for [i = 0:n_lines - 1] data index i using 1:(shown($3)) with lines \
         linetype style_of(i) linewidth 1.2 notitle, \
     for [i = 0:n_lines - 1] data index i using 1:($4 == 1 ? shown($3) : NaN) with points \
         linetype style_of(i) notitle, \
     for [i = 0:n_lines - 1] data index i using (NaN):(NaN) with linespoints \
         linetype style_of(i) linewidth 1.2 title columnheader(2), \
     data index 0 using (NaN):(NaN) with lines linetype 20 title 'one roundoff of float32, 2⁻²⁴'
unset multiplot
