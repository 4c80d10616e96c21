class Blog < ContentNode
end
