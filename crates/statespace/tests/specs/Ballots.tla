------------------------------- MODULE Ballots -------------------------------
\* A ballot box is a bag: who voted cannot be seen, only how often each choice was.
EXTENDS Naturals, Bags, FiniteSets, TLC
CONSTANTS Voter, Choice
VARIABLES voted, box
Init == voted = {} /\ box = EmptyBag
Vote(v, c) == v \notin voted /\ voted' = voted \cup {v} /\ box' = box (+) SetToBag({c})
Next == \E v \in Voter, c \in Choice : Vote(v, c)
Spec == Init /\ [][Next]_<<voted, box>>
RECURSIVE Sum(_)
Sum(S) == IF S = {} THEN 0 ELSE LET c == CHOOSE c \in S : TRUE IN CopiesIn(c, box) + Sum(S \ {c})
Counted == BagCardinality(box) = Cardinality(voted) /\ Sum(Choice) = Cardinality(voted)
Symmetric == Permutations(Voter)
==============================================================================
