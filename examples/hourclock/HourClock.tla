----------------------------- MODULE HourClock -----------------------------
(* A clock with hours and minutes: the example of Rab, Rysavy and Sveda,   *)
(* "On the Implementation of State-space Exploration Procedure in a        *)
(* Relational Database Management System".                                 *)
EXTENDS Naturals

VARIABLES hr, mn

vars == <<hr, mn>>

TypeOK == hr \in 1..12 /\ mn \in 0..59

Init == hr \in 1..12 /\ mn = 0

\* Twelve is followed by one.
NewRound == hr = 12 /\ mn = 59 /\ hr' = 1 /\ mn' = 0

NextHour == hr < 12 /\ mn = 59 /\ hr' = hr + 1 /\ mn' = 0

NextMinute == mn < 59 /\ mn' = mn + 1 /\ UNCHANGED hr

Next == NewRound \/ NextHour \/ NextMinute

Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

\* Noon, or midnight, comes again and again.
Strikes == []<>(hr = 12 /\ mn = 0)
=============================================================================
