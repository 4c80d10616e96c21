class Product < Item
  has_many :product_images, dependent: :destroy
  has_many :images, through: :product_images, dependent: :destroy
  has_many :product_downloads, dependent: :destroy
  has_many :downloads, through: :product_downloads, dependent: :destroy
  has_many :variations, dependent: :destroy
  has_and_belongs_to_many :related_products, class_name: "Product"
  has_and_belongs_to_many :tags
end
