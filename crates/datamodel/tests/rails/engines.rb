# A superclass that an engine provides is taken for a model if its class declares something, and is otherwise nothing.
# file: app/models/spree/product.rb
module Spree
  class Product < Spree.base_class
    has_many :variants, class_name: "Spree::Variant", dependent: :destroy
    belongs_to :tax, class_name: Spree::Tax.name
    belongs_to :user, class_name: Spree.user_class.to_s
  end
  class Variant < Spree::Base
    belongs_to :product
  end
  class Tax < ApplicationRecord; end
  class Helper < Spree::Something
    def call; end
  end
end
# file: db/schema.rb
ActiveRecord::Schema.define do
  create_table("spree_products") { |t| t.bigint "tax_id", null: false }
  create_table("spree_variants") { |t| t.bigint "product_id" }
end
# file: app/serializers/tax_serializer.rb
class TaxSerializer < ActiveModel::Serializer
  has_many :products
end
# file: lib/api/variant_serializer.rb
class VariantSerializer < JSONAPI::Serializer
  belongs_to :product
end
