------------------------------ MODULE Prisoners ------------------------------
\* A light switch tells one of the prisoners when all have been in the room.
EXTENDS Naturals, FiniteSets
CONSTANT Prisoner
VARIABLES light, count, signalled
vars == <<light, count, signalled>>
Counter == CHOOSE p \in Prisoner : TRUE
Others == Prisoner \ {Counter}
TypeOK == light \in BOOLEAN /\ count \in 0..2 * Cardinality(Prisoner) /\ signalled \in [Others -> 0..2]
Init == light \in BOOLEAN /\ count = 0 /\ signalled = [p \in Others |-> 0]
CounterIn == /\ IF light THEN light' = FALSE /\ count' = count + 1 ELSE UNCHANGED <<light, count>>
             /\ UNCHANGED signalled
OtherIn(p) == /\ IF ~light /\ signalled[p] < 2
                 THEN light' = TRUE /\ signalled' = [signalled EXCEPT ![p] = @ + 1]
                 ELSE UNCHANGED <<light, signalled>>
              /\ UNCHANGED count
Next == CounterIn \/ \E p \in Others : OtherIn(p)
Spec == Init /\ [][Next]_vars /\ WF_vars(CounterIn) /\ \A p \in Others : WF_vars(OtherIn(p))
Done == count = 2 * Cardinality(Prisoner) - 2
Right == Done => \A p \in Others : signalled[p] > 0
Ends == <>Done
==============================================================================
