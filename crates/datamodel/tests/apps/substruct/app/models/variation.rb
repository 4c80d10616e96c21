class Variation < Item
  belongs_to :product
end
