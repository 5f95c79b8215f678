# A panel per size. Above: accuracy on the test images after each epoch; below: the loss on them.
# Small points: one seed each; large points with a line: their mean.
# Numbers: n_panels, n_blocks, n_drawn (later blocks are the legend's), panels (the panel of each
# block), styles, means (is it a mean?), last_epoch, accuracy_low, accuracy_high, loss_low,
# loss_high; those of chart_legend().

top_pixels = 88
bottom_pixels = 85 + legend_height
frame = 80
gap = 18
split = top_pixels + 0.6 * (height - top_pixels - bottom_pixels)
panel_width = (width - frame - 20 - gap * (n_panels - 1) + 0.0) / n_panels

# Block 0: the panels' titles.
panel_of(i) = word(panels, i + 1) + 0
mean(i) = word(means, i + 1) + 0
shown(i, p, k) = panel_of(i) == p ? column(k) : NaN
of_mean(i, p, k) = mean(i) ? shown(i, p, k) : NaN
of_seed(i, p, k) = mean(i) ? NaN : shown(i, p, k)

set multiplot
unset key
set xrange [0.6:last_epoch + 0.4]
set xtics 1,(last_epoch > 12 ? int(last_epoch / 6) : 1) scale 0.6 font small

do for [p = 0:n_panels - 1] {
    left = frame + p * (panel_width + gap)
    set margins at screen from_left(left), at screen from_left(left + panel_width), \
        at screen from_top(split - 12), at screen from_top(top_pixels)
    set yrange [accuracy_low:accuracy_high]
    set format x ''
    set format y p == 0 ? '%g' : ''
    unset xlabel
    if (p == 0) { set ylabel 'accuracy, %' offset 0.5,0 } else { unset ylabel }
    plot for [i = 0:n_drawn - 1] data index i + 1 using 1:(of_seed(i, p, 2)) with points \
             linetype style_of(i) pointsize 0.4 notitle, \
         for [i = 0:n_drawn - 1] data index i + 1 using 1:(of_mean(i, p, 2)) with linespoints \
             linetype style_of(i) linewidth 0.6 notitle, \
         data index 0 using ($1 == p ? 0.6 : NaN):(accuracy_high):(strcol(2)) with labels left \
             offset 0,0.8 notitle
    unset label
    set tmargin at screen from_top(split + 12)
    set bmargin at screen from_bottom(bottom_pixels)
    set yrange [loss_low:loss_high]
    set format x '%g'
    set xlabel 'epoch' offset 0,0.3
    if (p == 0) { set ylabel 'loss' offset 0.5,0 }
    plot for [i = 0:n_drawn - 1] data index i + 1 using 1:(of_seed(i, p, 3)) with points \
             linetype style_of(i) pointsize 0.4 notitle, \
         for [i = 0:n_drawn - 1] data index i + 1 using 1:(of_mean(i, p, 3)) with linespoints \
             linetype style_of(i) linewidth 0.6 notitle
}

# ---- legend: as wide as the chart, since a panel has room for only one column
set lmargin at screen from_left(frame)
set rmargin at screen from_right(25)
set border 0
unset tics
unset xlabel
unset ylabel
unset grid
set key at screen 0.5, screen from_bottom(34) center bottom horizontal maxcols legend_columns \
    Left reverse samplen 3 width legend_spread
plot for [i = n_drawn:n_blocks - 1] data index i + 1 using (NaN):(NaN) with linespoints \
         linetype style_of(i) title columnheader(2)
unset multiplot
