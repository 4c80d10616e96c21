class Image < UserUpload
  has_many :product_images, dependent: :destroy
  has_many :products, through: :product_images
end
