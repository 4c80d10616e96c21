------------------------------- MODULE DieHard -------------------------------
\* Two jugs of three and five gallons, and a bomb that wants exactly four.
EXTENDS Naturals
VARIABLES small, big
TypeOK == small \in 0..3 /\ big \in 0..5
Init == small = 0 /\ big = 0
Min(m, n) == IF m < n THEN m ELSE n
FillSmall == small' = 3 /\ big' = big
FillBig == big' = 5 /\ small' = small
EmptySmall == small' = 0 /\ big' = big
EmptyBig == big' = 0 /\ small' = small
SmallToBig == LET poured == Min(small, 5 - big)
              IN  small' = small - poured /\ big' = big + poured
BigToSmall == LET poured == Min(big, 3 - small)
              IN  big' = big - poured /\ small' = small + poured
Next == \/ FillSmall \/ FillBig \/ EmptySmall \/ EmptyBig
        \/ SmallToBig \/ BigToSmall
Spec == Init /\ [][Next]_<<small, big>>
NotFour == big # 4
==============================================================================
