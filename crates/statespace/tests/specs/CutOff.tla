---- MODULE CutOff ----
\* A state whose steps are all cut off by a constraint on actions is no deadlock.
EXTENDS Naturals
VARIABLE x
Init == x = 0
Next == x' = x + 1
Small == x' < 3
====
