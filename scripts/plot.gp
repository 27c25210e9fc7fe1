# The objective by a key, a point per job, from an export:
#   meshsweep export --succeeded --format tsv -o results.tsv
#   gnuplot -e "across='micro_batch'; up='throughput'; by='zero_stage'" scripts/plot.gp     writes results.svg
if (!exists("file")) file = 'results.tsv'
if (!exists("out")) out = 'results.svg'
if (!exists("across")) across = 'micro_batch'
if (!exists("up")) up = 'throughput'
if (!exists("by")) by = 'zero_stage'
set terminal svg size 800,480 font 'sans,12' background 'white'
set output out
set datafile separator tab
set datafile missing '\N'
set key outside title by noenhanced
set xlabel across noenhanced
set ylabel up noenhanced
set grid
set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05
set style data points
stats file using (column(by)) nooutput name 'B'
# Values of the key that are whole numbers, from the least to the largest.
plot for [v = int(B_min) : int(B_max)] file using (column(by) == v ? column(across) : 1/0):(column(up)) \
    pointtype 7 pointsize 0.8 title sprintf('%d', v)
