class Tag < ApplicationRecord
  has_and_belongs_to_many :products
  belongs_to :parent, class_name: "Tag"
  has_many :children, class_name: "Tag", foreign_key: :parent_id, dependent: :destroy
end
