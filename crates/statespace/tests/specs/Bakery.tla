------------------------------- MODULE Bakery -------------------------------
\* Lamport's bakery: take a number greater than all others, wait for the smaller ones.
EXTENDS Naturals
CONSTANTS N, Top
VARIABLES num, pc, unread
vars == <<num, pc, unread>>
P == 1..N
Max(S) == CHOOSE m \in S : \A n \in S : n <= m
Before(p, q) == num[p] < num[q] \/ (num[p] = num[q] /\ p < q)
Init == num = [p \in P |-> 0] /\ pc = [p \in P |-> "idle"] /\ unread = [p \in P |-> {}]
Take(p) == /\ pc[p] = "idle"
           /\ num' = [num EXCEPT ![p] = 1 + Max({num[q] : q \in P})]
           /\ pc' = [pc EXCEPT ![p] = "wait"]
           /\ unread' = [unread EXCEPT ![p] = P \ {p}]
Look(p) == /\ pc[p] = "wait"
           /\ \E q \in unread[p] : /\ num[q] = 0 \/ Before(p, q)
                                   /\ unread' = [unread EXCEPT ![p] = @ \ {q}]
           /\ UNCHANGED <<num, pc>>
Enter(p) == pc[p] = "wait" /\ unread[p] = {} /\ pc' = [pc EXCEPT ![p] = "critical"] /\ UNCHANGED <<num, unread>>
Leave(p) == pc[p] = "critical" /\ pc' = [pc EXCEPT ![p] = "idle"]
            /\ num' = [num EXCEPT ![p] = 0] /\ UNCHANGED unread
Next == \E p \in P : Take(p) \/ Look(p) \/ Enter(p) \/ Leave(p)
Spec == Init /\ [][Next]_vars
Small == \A p \in P : num[p] <= Top
Exclusion == \A p, q \in P : p # q => ~(pc[p] = "critical" /\ pc[q] = "critical")
==============================================================================
