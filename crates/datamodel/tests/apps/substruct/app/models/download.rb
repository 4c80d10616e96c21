class Download < UserUpload
  has_many :product_downloads, dependent: :destroy
  has_one :product, through: :product_downloads
end
