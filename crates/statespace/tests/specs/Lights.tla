------------------------------- MODULE Lights -------------------------------
\* Lights at a crossing; whether one may turn green is asked with ENABLED.
EXTENDS Naturals
VARIABLES light, turn
vars == <<light, turn>>
Road == {"north", "east"}
TypeOK == light \in [Road -> {"red", "green", "amber"}] /\ turn \in Road
Init == light = [r \in Road |-> "red"] /\ turn = "north"
Other(r) == CHOOSE s \in Road : s # r
Green(r) == turn = r /\ light[Other(r)] = "red" /\ light[r] = "red"
            /\ light' = [light EXCEPT ![r] = "green"] /\ UNCHANGED turn
Amber(r) == light[r] = "green" /\ light' = [light EXCEPT ![r] = "amber"] /\ UNCHANGED turn
Red(r) == light[r] = "amber" /\ light' = [light EXCEPT ![r] = "red"] /\ turn' = Other(r)
Next == \E r \in Road : Green(r) \/ Amber(r) \/ Red(r)
Spec == Init /\ [][Next]_vars /\ WF_vars(Next)
Safe == \E r \in Road : light[r] = "red"
Waits == \A r \in Road : light[r] = "red" /\ turn = r => ENABLED Green(r)
Served == \A r \in Road : []<>(light[r] = "green")
==============================================================================
