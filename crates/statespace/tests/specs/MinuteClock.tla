----------------------------- MODULE MinuteClock -----------------------------
\* Hides its minutes: seen by its hours only it is the clock of the other module.
EXTENDS Naturals
VARIABLES h, m
Hours == INSTANCE Clock WITH hr <- h
Init == h \in 1..12 /\ m \in 0..2
Minute == m' = (m + 1) % 3
Hour == IF m # 2 THEN h' = h ELSE h' = (h % 12) + 1
Next == Minute /\ Hour
Spec == Init /\ [][Next]_<<h, m>> /\ WF_<<h, m>>(Next)
Refines == Hours!HC
==============================================================================
