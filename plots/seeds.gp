# A panel per size. Above: the loss of a training over its steps, a thin line per seed, a thick one
# for the mean; below: the difference of each from the reference with the same seed.
# Numbers: n_panels, n_blocks, n_drawn (later blocks are the legend's), panels (the panel of each
# block), styles, thick (0: thin, 1: the only seed, 2: a mean, 3: the reference), last_step,
# loss_low, loss_high, difference_high; those of chart_legend().

top_pixels = 88
bottom_pixels = 85 + legend_height
frame = 104
gap = 18
upper_share = 0.58
split = top_pixels + upper_share * (height - top_pixels - bottom_pixels)
panel_width = (width - frame - 20 - gap * (n_panels - 1) + 0.0) / n_panels

# Block 0: the panels' titles.
panel_of(i) = word(panels, i + 1) + 0
weight_of(i) = word('0.8 1.6 2.4 5', word(thick, i + 1) + 1) + 0
shown(i, p, k) = panel_of(i) == p ? column(k) : NaN

set multiplot
unset key
set xrange [-0.02 * last_step:1.02 * last_step]
set xtics autofreq scale 0.6 font small
set style textbox opaque noborder fillcolor rgb '#ffffff' margins 0.4,0.2

do for [p = 0:n_panels - 1] {
    left = frame + p * (panel_width + gap)
    set margins at screen from_left(left), at screen from_left(left + panel_width), \
        at screen from_top(split - 12), at screen from_top(top_pixels)
    unset arrow 1
    set yrange [loss_low:loss_high]
    set format x ''
    unset xlabel
    if (p == 0) {
        set ylabel 'loss' offset 1,0
        set format y '%g'
    } else {
        unset ylabel
        set format y ''
    }
    plot for [i = 0:n_drawn - 1] data index i + 1 using 1:(shown(i, p, 2)) with lines \
             linetype style_of(i) linewidth weight_of(i) notitle, \
         data index 0 using ($1 == p ? 0 : NaN):(loss_high):(strcol(2)) with labels left \
             offset 0,0.8 notitle
    unset label
    set tmargin at screen from_top(split + 12)
    set bmargin at screen from_bottom(bottom_pixels)
    set yrange [-difference_high:difference_high]
    set format x '%g'
    set xlabel 'step' offset 0,0.3
    if (p == 0) { set ylabel 'difference' offset 1,0 }
    set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead linecolor rgb '#888888'
    plot for [i = 0:n_drawn - 1] data index i + 1 using 1:(shown(i, p, 3)) with lines \
             linetype style_of(i) linewidth weight_of(i) notitle
}

# ---- legend: as wide as the chart, since a panel has room for only one column
set lmargin at screen from_left(frame)
set rmargin at screen from_right(25)
set border 0
unset arrow 1
unset tics
unset xlabel
unset ylabel
unset grid
set key at screen 0.5, screen from_bottom(34) center bottom horizontal maxcols legend_columns \
    Left reverse samplen 3 width legend_spread
plot for [i = n_drawn:n_blocks - 1] data index i + 1 using (NaN):(NaN) with lines \
         linetype style_of(i) linewidth weight_of(i) title columnheader(2)
unset multiplot
