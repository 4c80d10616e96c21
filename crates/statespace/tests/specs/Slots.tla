---- MODULE Slots ----
\* Processes that are alike fill their slots once.
EXTENDS Naturals, TLC
CONSTANT P
VARIABLE st
Perms == Permutations(P)
Init == st = [p \in P |-> 0]
Next == \E p \in P : st[p] = 0 /\ \E v \in 1..2 : st' = [st EXCEPT ![p] = v]
Spec == Init /\ [][Next]_st
Once == [][\A p \in P : st'[p] # st[p] => st[p] = 0]_st
Apart == ~ \E p, q \in P : st[p] = 1 /\ st[q] = 2
Filled == <>(\A p \in P : st[p] # 0)
====
