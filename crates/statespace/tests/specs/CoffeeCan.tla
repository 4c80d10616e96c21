------------------------------ MODULE CoffeeCan ------------------------------
\* Two beans out, one in: the colour of the last one is known beforehand.
EXTENDS Naturals
CONSTANT Most
VARIABLE can
Count(c) == c.black + c.white
TypeOK == can \in [black : 0..Most, white : 0..Most]
Init == can \in {c \in [black : 0..Most, white : 0..Most] : Count(c) \in 1..Most}
TwoBlack == can.black > 1 /\ can' = [can EXCEPT !.black = @ - 1]
TwoWhite == can.white > 1 /\ can' = [can EXCEPT !.black = @ + 1, !.white = @ - 2]
OneOfEach == can.black >= 1 /\ can.white >= 1 /\ can' = [can EXCEPT !.black = @ - 1]
End == Count(can) = 1 /\ UNCHANGED can
Next == TwoBlack \/ TwoWhite \/ OneOfEach \/ End
Spec == Init /\ [][Next]_can /\ WF_can(Next)
Shrinks == [][Count(can') < Count(can)]_can
Ends == <>(Count(can) = 1)
Parity == \A even \in BOOLEAN : (can.white % 2 = 0) = even => []((can.white % 2 = 0) = even)
==============================================================================
