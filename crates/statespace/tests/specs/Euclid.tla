------------------------------- MODULE Euclid -------------------------------
\* The greatest common divisor, found as Euclid did and as it is defined.
EXTENDS Integers
CONSTANT Top
VARIABLES x, y, x0, y0
Divides(d, n) == \E k \in 1..n : d * k = n
Gcd(a, b) == CHOOSE d \in 1..a : /\ Divides(d, a) /\ Divides(d, b)
                                  /\ \A e \in 1..a : Divides(e, a) /\ Divides(e, b) => e <= d
RECURSIVE GcdOf(_, _)
GcdOf(a, b) == IF b = 0 THEN a ELSE GcdOf(b, a % b)
Init == x \in 1..Top /\ y \in 1..Top /\ x0 = x /\ y0 = y
Next == \/ x > y /\ x' = x - y /\ UNCHANGED <<y, x0, y0>>
        \/ y > x /\ y' = y - x /\ UNCHANGED <<x, x0, y0>>
Spec == Init /\ [][Next]_<<x, y, x0, y0>>
Right == x = y => x = Gcd(x0, y0) /\ x = GcdOf(x0, y0)
==============================================================================
