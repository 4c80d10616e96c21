------------------------------- MODULE Parity -------------------------------
\* Even and odd, each by the other; and the larger of two by an order that is given to a module.
EXTENDS Naturals
------------------------------- MODULE Orders -------------------------------
CONSTANT Before(_, _)
Last(a, b) == IF Before(a, b) THEN b ELSE a
==============================================================================
VARIABLES x, best
After(a, b) == a > b
Upwards == INSTANCE Orders WITH Before <- <
Downwards == INSTANCE Orders WITH Before <- After
TypeOK == x \in 0..8 /\ best \in 0..8
Init == x = 0 /\ best = 8
Step == LET RECURSIVE Even(_), Odd(_)
            Even(n) == IF n = 0 THEN TRUE ELSE Odd(n - 1)
            Odd(n) == IF n = 0 THEN FALSE ELSE Even(n - 1)
        IN IF Even(x) THEN x' = (x + 3) % 9 ELSE x' = x - 1
Next == Step /\ best' = Downwards!Last(best, x')
Spec == Init /\ [][Next]_<<x, best>>
Least == best = 8 \/ Upwards!Last(best, x) >= best
==============================================================================
