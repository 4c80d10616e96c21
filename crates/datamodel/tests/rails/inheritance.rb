# Classes that share a table; a class below adds its own. An abstract class is no class of objects.
# file: app/models/models.rb
class ApplicationRecord < ActiveRecord::Base
  primary_abstract_class
end
class Item < ApplicationRecord
  has_many :lines, dependent: :destroy
  has_many :owned, class_name: "Item", foreign_key: :owner_id
end
class Product < Item
  has_many :variations, dependent: :destroy
  has_many :images
end
class Variation < Item
  belongs_to :product
  belongs_to :owner, class_name: "Item"
end
class Line < ApplicationRecord; belongs_to :item; end
class Image < ApplicationRecord; belongs_to :product; end
class Document < ApplicationRecord
  self.abstract_class = true
  belongs_to :author
  validates :author, presence: true
end
class Letter < Document; end
class Memo < Document
  self.table_name = "notes"
  has_many :author, class_name: "Line"
end
class Author < ApplicationRecord; has_many :letters; end
class Service < Struct.new(:a); end
