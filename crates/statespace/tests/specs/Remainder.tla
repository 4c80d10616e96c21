---- MODULE Remainder ----
\* Infinitely many states, three of which are told apart by the view. Every step is judged where it really leads.
EXTENDS Naturals
VARIABLE n
Init == n = 0
Next == n' = n + 1
Spec == Init /\ [][Next]_n /\ WF_n(Next)
View == n % 3
Up == [][n' > n]_n
Live == []<><<n' > n /\ n % 3 = 2>>_n
Settles == <>[](n % 3 = 1)
====
