class Snippet < ContentNode
end
