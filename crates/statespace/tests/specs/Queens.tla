------------------------------- MODULE Queens -------------------------------
\* All ways to put queens on a board, row by row.
EXTENDS Naturals, Sequences
CONSTANT N
VARIABLES todo, sols
Attacks(q, i, j) == q[i] = q[j] \/ q[i] - q[j] = i - j \/ q[j] - q[i] = i - j
IsSolution(q) == \A i \in 1..Len(q) - 1 : \A j \in i + 1..Len(q) : ~Attacks(q, i, j)
Init == todo = {<<>>} /\ sols = {}
Place == \E q \in todo :
           LET cols == {c \in 1..N : IsSolution(Append(q, c))}
               exts == {Append(q, c) : c \in cols}
           IN  IF Len(q) = N - 1
               THEN todo' = todo \ {q} /\ sols' = sols \cup exts
               ELSE todo' = (todo \ {q}) \cup exts /\ sols' = sols
Next == Place
Spec == Init /\ [][Next]_<<todo, sols>>
Two == todo = {} => sols = {<<2, 4, 1, 3>>, <<3, 1, 4, 2>>}
==============================================================================
