# The speed-up of each row of the headline, sorted: a bar from 1 to the ratio and its 95 % interval.
# Numbers: n_rows, x_low, x_high (the ends of the axis, a ratio; 1 lies between them).

pixels_left = 275
pixels_right = 345
set margins at screen from_left(pixels_left), at screen from_right(pixels_right), \
    at screen from_bottom(62), at screen from_top(70)
set logscale x 2
set xrange [x_low:x_high]
set yrange [n_rows + 0.5:0.5]
set border 1
set grid noytics xtics linecolor rgb '#dddddd' linetype 1 linewidth 0.6
set xtics ('¼' 0.25, '½' 0.5, '1' 1, '2×' 2, '4×' 4, '8×' 8, '16×' 16, '32×' 32, '64×' 64)
set ytics scale 0
set arrow 1 from 1, graph 0 to 1, graph 1 nohead linecolor rgb '#444444' linewidth 1.2
set key off
colours = '#0072B2 #D55E00 #999999'

# Columns: row, ratio, low, high (NaN without), colour (1 ours is faster, 2 the rival, 3 neither), label, verdict, who.
colour(i) = word(colours, i)
bar(of) = column(5) == of ? column(2) : NaN
plot for [of = 1:3] data using (bar(of)):1:(1):(bar(of)):($1 - 0.32):($1 + 0.32) with boxxyerror \
         fillstyle solid 0.75 noborder linecolor rgb colour(of), \
     data using 2:1:3:4:ytic(6) with xerrorbars pointtype 7 pointsize 0.4 linewidth 1.4 linecolor rgb '#222222', \
     data using (x_high):1:7 with labels left offset 1.5,0.45 font small noenhanced, \
     data using (x_high):1:8 with labels left offset 1.5,-0.5 font small textcolor rgb '#555555' noenhanced
